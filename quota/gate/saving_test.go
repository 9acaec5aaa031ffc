// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/gpu"
	"aipub.io/aipub/quota"
	"aipub.io/aipub/quota/placement"
)

// Quota is kept for the first that waits for it, as room is, and from nobody who asks for
// something else.
func TestQuotaIsKeptForALargeOne(t *testing.T) {
	for _, tc := range []struct {
		name   string
		policy api.QueuePolicy
		age    int
		want   string
	}{
		{"first allocating", api.FirstAllocating, 1, ""},
		{"first scheduling, patient", api.FirstScheduling, 5, "tiny other"},
		{"first scheduling, after its patience", api.FirstScheduling, 11, "other"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := snapshot([]placement.Node{nodeOf("a", 4)}, one(pod("large", "vision", "alice", "large", tc.age)),
				one(pod("tiny", "vision", "carol", "small", 1)), one(pod("other", "vision", "carol", "cpu", 0)))
			for slot := range 4 {
				s.Nodes[0].Layout.Slices = append(s.Nodes[0].Layout.Slices, gpu.Slice{ID: gpu.SliceID(fmt.Sprint("cpu-", slot)), Set: "cpu", Kind: gpu.KindCPU})
			}
			s.Sizes = quota.Sizes{"small": sizes["small"], "large": sizes["large"], "cpu": 0}
			gpus := resource.MustParse("1")
			whole := projectQuota("vision", "small", 9)
			whole.Spec.Limits.GPU = &gpus
			s.Quotas, s.Queues = []api.ResourceSetQuota{whole}, []api.PriorityQueue{queueOf("vision", tc.policy, 5, 600)}
			s.Charged = open(quota.Within, "a", pods("held", "vision", "bob", "small", 60, 3)...)
			p := decide(t, s)
			requireOpened(t, p, tc.want)
			if tc.want == "other" && (waits(p)["tiny"] != api.ReasonKeptForEarlier || !strings.Contains(p.Wait[1].Message, "saved for Job large")) {
				t.Errorf("tiny waits for %s: %s", waits(p)["tiny"], p.Wait[1].Message)
			}
			s.Charged = nil
			if got, _, _ := strings.Cut(opened(decide(t, s)), " "); got != "large" {
				t.Errorf("%s goes first once there is enough", got)
			}
		})
	}
}

// While it waits for room, it keeps the quota that it has.
func TestQuotaIsKeptForWhomRoomIsKept(t *testing.T) {
	for _, tc := range []struct {
		name  string
		age   int
		freed bool
		want  string
	}{
		{"patient", 5, false, "tiny"},
		{"after its patience", 11, false, ""},
		{"others went for it", 5, true, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			large := pod("large", "vision", "alice", "large", tc.age)
			large.Freed = tc.freed
			s := snapshot([]placement.Node{nodeOf("a", 1), nodeOf("b", 1)}, one(large), one(pod("tiny", "vision", "carol", "small", 1)))
			gpus := resource.MustParse("1")
			whole := projectQuota("vision", "small", 9)
			whole.Spec.Limits.GPU = &gpus
			s.Quotas, s.Queues = []api.ResourceSetQuota{whole}, []api.PriorityQueue{queueOf("vision", api.FirstScheduling, 5, 600)}
			s.Charged = append(open(quota.Within, "a", pods("on-a", "speech", "bob", "small", 60, 3)...), open(quota.Within, "b", pods("on-b", "speech", "bob", "small", 60, 2)...)...)
			p := decide(t, s)
			requireOpened(t, p, tc.want)
			if waits(p)["large"] != api.ReasonNoRoomOnNodes {
				t.Errorf("large waits for %s", waits(p)["large"])
			}
		})
	}
}
