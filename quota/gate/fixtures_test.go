// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/gpu"
	"aipub.io/aipub/quota"
	"aipub.io/aipub/quota/placement"
)

// noon is when the tests play.
var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

var sizes = quota.Sizes{"small": 6300, "large": 25200}

// nodeOf has some GPUs; each is one large set or four small ones.
func nodeOf(name string, gpus int) placement.Node {
	n := placement.Node{
		Name: name, Usable: true, Held: map[gpu.SliceID]string{}, Down: map[gpu.SliceID]bool{},
		Layout: gpu.Layout{Totals: map[gpu.Counter]int64{}},
	}
	for i := range gpus {
		counter, uuid := gpu.Counter(fmt.Sprintf("gpu%d", i)), fmt.Sprintf("GPU-%s-%d", name, i)
		n.Layout.Totals[counter] = 100
		add := func(set string, slot int, amount int64) {
			n.Layout.Slices = append(n.Layout.Slices, gpu.Slice{
				ID: gpu.SliceID(fmt.Sprintf("%s-%d-%d", set, i, slot)), Set: set, Kind: gpu.KindBlock, GPUs: []string{uuid},
				Uses: []gpu.Use{{Counter: counter, Amount: amount}},
			})
		}
		add("large", 0, 100)
		for slot := range 4 {
			add("small", slot, 25)
		}
	}
	return n
}

// pod is a pending pod of a Job of its own, age minutes old.
func pod(name, project, user, set string, age int) Pending {
	made := noon.Add(-time.Duration(age) * time.Minute)
	sets := map[string]int64{set: 1}
	return Pending{
		Claim: quota.Claim{
			UID: "p-" + name, Namespace: project, Name: name,
			Workload:   quota.Workload{Group: "batch", Kind: "Job", Namespace: project, Name: name, UID: "w-" + name},
			Party:      quota.Party{Project: project, User: user, Type: api.TypeJob},
			Sets:       sets,
			Generation: "w-" + name,
			Since:      made,
		},
		Ask:     placement.Ask{UID: "p-" + name, Namespace: project, Name: name, Sets: sets},
		Created: made,
	}
}

// pods are n pods of one Job.
func pods(name, project, user, set string, age, n int) []Pending {
	out := make([]Pending, n)
	for i := range out {
		p := pod(name, project, user, set, age)
		p.Claim.UID, p.Claim.Name = fmt.Sprintf("p-%s-%d", name, i), fmt.Sprintf("%s-%d", name, i)
		p.Ask.UID, p.Ask.Name = p.Claim.UID, p.Claim.Name
		out[i] = p
	}
	return out
}

// operation makes pods those of a Deployment.
func operation(generation string, list ...Pending) []Pending {
	for i := range list {
		c := &list[i].Claim
		c.Party.Type, c.Workload.Group, c.Workload.Kind, c.Generation = api.TypeOperation, "apps", "Deployment", generation
	}
	return list
}

// open makes charged pods of pending ones.
func open(grade quota.Grade, node string, list ...Pending) []Charged {
	var out []Charged
	for _, p := range list {
		out = append(out, Charged{Claim: p.Claim, Grade: grade, Node: node, Ask: p.Ask})
	}
	return out
}

func floorOf(p Pending, n int64) quota.Floor {
	return quota.Floor{Workload: p.Claim.Workload, Party: p.Claim.Party, Sets: p.Claim.Sets, MinReplicas: n}
}

func projectQuota(project, set string, n int32) api.ResourceSetQuota {
	return api.ResourceSetQuota{
		ObjectMeta: metav1.ObjectMeta{Name: project},
		Spec: api.ResourceSetQuotaSpec{
			Scope:  api.QuotaScope{Project: project},
			Limits: api.QuotaLimits{SetLimits: api.SetLimits{Sets: map[string]int32{set: n}}},
		},
	}
}

func userQuota(project, user, set string, n int32) api.ResourceSetQuota {
	q := projectQuota(project, set, n)
	q.Name = project + "-" + user
	q.Spec.Scope.User = user
	return q
}

func queueOf(project string, policy api.QueuePolicy, priority int32, patience int32) api.PriorityQueue {
	return api.PriorityQueue{
		ObjectMeta: metav1.ObjectMeta{Name: project},
		Spec:       api.PriorityQueueSpec{Policy: policy, Priority: priority, PatienceSeconds: &patience},
	}
}

func snapshot(nodes []placement.Node, pending ...[]Pending) Snapshot {
	return Snapshot{Now: noon, Sizes: sizes, Nodes: nodes, Pending: slices.Concat(pending...)}
}

func one(p Pending) []Pending { return []Pending{p} }

// opened are the names of the pods that a plan opens, in order.
func opened(p Plan) string {
	var names []string
	for _, o := range p.Open {
		names = append(names, o.Claim.Name)
	}
	return strings.Join(names, " ")
}

// waits are the reasons of the pods that wait, by name.
func waits(p Plan) map[string]string {
	out := map[string]string{}
	for _, w := range p.Wait {
		out[w.Claim.Name] = w.Reason
	}
	return out
}

func requireOpened(t *testing.T, p Plan, want string) {
	t.Helper()
	if got := opened(p); got != want {
		t.Errorf("opened %q, want %q\nwaiting: %v", got, want, p.Wait)
	}
}

func requireWaits(t *testing.T, p Plan, want map[string]string) {
	t.Helper()
	if got := waits(p); !maps.Equal(got, want) {
		t.Errorf("waiting %v, want %v", got, want)
	}
}

// check is what must hold of every plan.
func check(t *testing.T, s Snapshot, p Plan) {
	t.Helper()
	seen := map[string]int{}
	for _, o := range p.Open {
		seen[o.Claim.UID]++
		if o.Seat.Node == "" {
			t.Errorf("%s is opened without a node", o.Claim.Name)
		}
	}
	for _, w := range p.Wait {
		seen[w.Claim.UID]++
		if w.Reason == "" || w.Message == "" || w.Position < 1 {
			t.Errorf("%s waits without a reason, a message or a position: %+v", w.Claim.Name, w)
		}
	}
	for _, x := range s.Pending {
		if seen[x.Claim.UID] != 1 {
			t.Errorf("%s is in the plan %d times, want once", x.Claim.Name, seen[x.Claim.UID])
		}
	}
	checkLimits(t, s, p)
}

// checkLimits counts anew, without a book, what a plan leaves charged to quotas of
// whole projects and of persons in them, by set. Surge and Borrowed stand above by
// their rules.
func checkLimits(t *testing.T, s Snapshot, p Plan) {
	t.Helper()
	for _, q := range s.Quotas {
		for set, limit := range q.Spec.Limits.Sets {
			var before, after int64
			counts := func(c quota.Claim) bool {
				return c.Party.Project == q.Spec.Scope.Project && (q.Spec.Scope.User == "" || q.Spec.Scope.User == c.Party.User)
			}
			for _, c := range s.Charged {
				if counts(c.Claim) && !c.Unmanaged {
					before += c.Claim.Sets[set]
				}
			}
			for _, o := range p.Open {
				if counts(o.Claim) && (o.Grade == quota.Within || o.Grade == quota.Headroom) {
					after += o.Claim.Sets[set]
				}
			}
			if after > 0 && before+after > int64(limit) {
				t.Errorf("quota %s: %d %s are charged, the limit is %d", q.Name, before+after, set, limit)
			}
		}
	}
}
