// SPDX-License-Identifier: Apache-2.0

package partitioner

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "aipub.io/aipub/api/v1alpha1"
)

// aged is a policy that was made so many minutes after the first.
func aged(name string, minute int, spec api.PartitionPolicySpec) api.PartitionPolicy {
	made := metav1.NewTime(time.Date(2026, 1, 1, 0, minute, 0, 0, time.UTC))
	return api.PartitionPolicy{ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: made}, Spec: spec}
}

func TestConflicts(t *testing.T) {
	large := policy(nil, wholeSet("large", 1))
	n1, n2 := box("n1", 64, 512, h200s(4, false), false), box("n2", 64, 512, h200s(4, false), false)
	small := box("n3", 32, 512, h200s(4, false), false)
	cases := map[string]struct {
		policies []api.PartitionPolicy
		nodes    map[string][]Node
		want     []string // policy, with, reason
		says     string
	}{
		"the same result under one name is no conflict": {
			[]api.PartitionPolicy{aged("a", 0, large), aged("b", 1, large)},
			map[string][]Node{"a": {n1}, "b": {n2}}, nil, "",
		},
		"another size is refused in the younger policy, whatever the names": {
			[]api.PartitionPolicy{aged("a", 1, large), aged("z", 0, large)},
			map[string][]Node{"a": {n1}, "z": {small}}, []string{"a z ConflictingSet"},
			`spec.sets[0].name: policies "a" and "z" both define set "large", with cpu 16 and memory 128Gi here, cpu 8 and memory 128Gi there`,
		},
		"another GPU part is refused too": {
			[]api.PartitionPolicy{aged("a", 0, policy(nil, with(wholeSet("x", 1), "8", "8Gi"))), aged("b", 0, policy(nil, with(wholeSet("x", 2), "8", "8Gi")))},
			map[string][]Node{"a": {n1}, "b": {n2}}, []string{"b a ConflictingSet"}, "with another gpu or sharing",
		},
		"two policies on one node": {
			[]api.PartitionPolicy{aged("b", 0, large), aged("a", 0, large)},
			map[string][]Node{"a": {n1, n2}, "b": {n1, n2}}, []string{"b a OverlappingPolicies"},
			`policies "b" and "a" both select node "n1" and 1 more; "a" is older and holds there`,
		},
		"a policy that has not been divided takes no part": {
			[]api.PartitionPolicy{aged("a", 0, large), aged("b", 1, large)}, map[string][]Node{"b": {n1}}, nil, "",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			divisions := map[string]Division{}
			for _, p := range tc.policies {
				if nodes, ok := tc.nodes[p.Name]; ok {
					divisions[p.Name] = Divide(p.Spec, nodes)
				}
			}
			var got []string
			for _, c := range Conflicts(tc.policies, divisions) {
				got = append(got, c.Policy+" "+c.With+" "+c.Rejection.Reason)
				if !strings.Contains(c.Rejection.Message, tc.says) {
					t.Errorf("message %q does not say %q", c.Rejection.Message, tc.says)
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("conflicts (-want +got): %s", diff)
			}
		})
	}
}

func TestGovern(t *testing.T) {
	spec := func(pool string) api.PartitionPolicySpec {
		return api.PartitionPolicySpec{NodeSelector: metav1.LabelSelector{MatchLabels: map[string]string{"pool": pool}}}
	}
	broken := api.PartitionPolicySpec{NodeSelector: metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "pool", Operator: "Like"}}}}
	policies := []api.PartitionPolicy{
		aged("empty", 0, api.PartitionPolicySpec{}), aged("broken", 0, broken),
		aged("young", 3, spec("a")), aged("old", 1, spec("a")), aged("other", 0, spec("b")),
	}
	winner, others := Govern(policies, map[string]string{"pool": "a"})
	if winner == nil || winner.Name != "old" || len(others) != 1 || others[0].Name != "young" {
		t.Errorf("winner %v, others %v; want old before young", winner, others)
	}
	if winner, _ := Govern(policies, map[string]string{"pool": "c"}); winner != nil {
		t.Errorf("winner %s for a node that nothing selects", winner.Name)
	}
}
