// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/gpu"
	"aipub.io/aipub/partitioner"
)

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// clusterNode has 64 CPUs, 512Gi and some whole GPUs, in pool h200.
func clusterNode(name string, gpus int) ClusterNode {
	n := partitioner.Node{Name: name, CPUMilli: 64_000, MemoryBytes: 512 << 30}
	for i := range gpus {
		n.GPUs = append(n.GPUs, gpu.GPU{
			Index: i, Minor: i, UUID: "GPU-" + name + "-" + string(rune('a'+i)), Model: "NVIDIA H200",
			MemoryBytes: 141 << 30, NUMANode: gpu.NUMAUnknown,
		})
	}
	return ClusterNode{Name: name, Labels: map[string]string{"aipub.io/pool": "h200"}, Reported: true, Node: n}
}

func quantity(s string) *resource.Quantity {
	q := resource.MustParse(s)
	return &q
}

// policyOf selects pool h200 and has sets of whole GPUs.
func policyOf(name string, created time.Time, sets ...v1alpha1.SetTemplate) *v1alpha1.PartitionPolicy {
	return &v1alpha1.PartitionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: metav1.NewTime(created)},
		Spec: v1alpha1.PartitionPolicySpec{
			NodeSelector: metav1.LabelSelector{MatchLabels: map[string]string{"aipub.io/pool": "h200"}},
			Sets:         sets,
		},
	}
}

func wholeSet(name string, count int32) v1alpha1.SetTemplate {
	return v1alpha1.SetTemplate{Name: name, GPU: &v1alpha1.SetGPU{Count: &count}}
}

func TestCheckPolicy(t *testing.T) {
	greedy := wholeSet("greedy", 1)
	greedy.CPU = quantity("65")
	elsewhere := policyOf("elsewhere", noon.Add(-time.Hour), wholeSet("large", 2))
	elsewhere.Spec.NodeSelector.MatchLabels = map[string]string{"aipub.io/pool": "b200"}
	otherPool := clusterNode("c", 2)
	otherPool.Labels = map[string]string{"aipub.io/pool": "b200"}
	silent := ClusterNode{Name: "new", Labels: clusterNode("new", 0).Labels}
	// invalid lacks what the schema demands too, for callers without one.
	invalid := policyOf("p", noon)

	cases := map[string]struct {
		policy   *v1alpha1.PartitionPolicy
		cluster  Cluster
		reasons  []Reason
		sentence []string
		warnings []string
	}{
		"fits": {
			policy:  policyOf("p", noon, wholeSet("large", 1)),
			cluster: Cluster{Nodes: []ClusterNode{clusterNode("a", 2)}},
		},
		"makes no sense": {
			policy: invalid, reasons: []Reason{v1alpha1.ReasonInvalidPolicy}, sentence: []string{"spec.sets: ", "at least one set"},
		},
		"more GPUs than any node has": {
			policy:   policyOf("p", noon, wholeSet("large", 1), wholeSet("huge", 4)),
			cluster:  Cluster{Nodes: []ClusterNode{clusterNode("a", 2)}},
			reasons:  []Reason{v1alpha1.ReasonSetDoesNotFit},
			sentence: []string{"spec.sets[1].gpu.count: ", "4", "node a", "at most 2"},
		},
		"more CPU than any node has": {
			policy:   policyOf("p", noon, greedy),
			cluster:  Cluster{Nodes: []ClusterNode{clusterNode("a", 2)}},
			reasons:  []Reason{v1alpha1.ReasonSetDoesNotFit},
			sentence: []string{"spec.sets[0].cpu: ", "65", "node a", "64"},
		},
		"fits one node of two": {
			policy:   policyOf("p", noon, wholeSet("large", 4)),
			cluster:  Cluster{Nodes: []ClusterNode{clusterNode("a", 2), clusterNode("b", 4)}},
			warnings: []string{"node a"},
		},
		"no node matches": {
			policy:   policyOf("p", noon, wholeSet("large", 4)),
			cluster:  Cluster{Nodes: []ClusterNode{otherPool}},
			warnings: []string{"no node matches aipub.io/pool=h200"},
		},
		"a node has not reported": {
			policy:   policyOf("p", noon, wholeSet("large", 1)),
			cluster:  Cluster{Nodes: []ClusterNode{clusterNode("a", 2), silent}},
			warnings: []string{"1 of the 2 matching nodes have not reported"},
		},
		"selects a node of an older policy": {
			policy: policyOf("p", noon, wholeSet("large", 1)),
			cluster: Cluster{
				Policies: []v1alpha1.PartitionPolicy{*policyOf("old", noon.Add(-time.Hour), wholeSet("other", 1))},
				Nodes:    []ClusterNode{clusterNode("a", 2)},
			},
			reasons:  []Reason{v1alpha1.ReasonOverlappingPolicies},
			sentence: []string{"spec.nodeSelector: ", `"old"`, `"a"`},
		},
		"same name, other size": {
			policy:   policyOf("p", noon, wholeSet("large", 1)),
			cluster:  Cluster{Policies: []v1alpha1.PartitionPolicy{*elsewhere}, Nodes: []ClusterNode{clusterNode("a", 2), otherPool}},
			reasons:  []Reason{v1alpha1.ReasonConflictingSet},
			sentence: []string{"spec.sets[0].name: ", `"large"`, `"elsewhere"`, "rename"},
		},
		"same name, same size": {
			policy:  policyOf("p", noon, wholeSet("large", 2)),
			cluster: Cluster{Policies: []v1alpha1.PartitionPolicy{*elsewhere}, Nodes: []ClusterNode{clusterNode("a", 2), otherPool}},
		},
		"without creation time it is the youngest": {
			policy: policyOf("a-first-by-name", time.Time{}, wholeSet("large", 1)),
			cluster: Cluster{
				Policies: []v1alpha1.PartitionPolicy{*policyOf("old", noon.Add(-time.Hour), wholeSet("other", 1))},
				Nodes:    []ClusterNode{clusterNode("a", 2)},
			},
			reasons:  []Reason{v1alpha1.ReasonOverlappingPolicies},
			sentence: []string{`"old" is older`},
		},
		"a conflict that stood before is not its fault": {
			policy: policyOf("p", noon, wholeSet("large", 1), wholeSet("two", 2)),
			cluster: Cluster{
				Policies: []v1alpha1.PartitionPolicy{
					*policyOf("old", noon.Add(-time.Hour), wholeSet("other", 1)),
					*policyOf("p", noon, wholeSet("large", 1)),
				},
				Nodes: []ClusterNode{clusterNode("a", 2)},
			},
		},
		"an older policy may not turn against a younger one either": {
			policy: policyOf("p", noon.Add(-2*time.Hour), wholeSet("large", 1)),
			cluster: Cluster{
				Policies: []v1alpha1.PartitionPolicy{*elsewhere, *policyOf("p", noon.Add(-2*time.Hour), wholeSet("large", 2))},
				Nodes:    []ClusterNode{clusterNode("a", 2), otherPool},
			},
			reasons:  []Reason{v1alpha1.ReasonConflictingSet},
			sentence: []string{`"elsewhere"`},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			refusals, warnings := CheckPolicy(tc.policy, tc.cluster, noon)
			if diff := cmp.Diff(tc.reasons, refusals.reasons()); diff != "" {
				t.Fatalf("reasons (-want +got):\n%s\n%s", diff, refusals)
			}
			requireSentence(t, refusals.String(), tc.sentence...)
			if len(warnings) != len(tc.warnings) {
				t.Fatalf("warnings %q, want %d", warnings, len(tc.warnings))
			}
			requireSentence(t, strings.Join(warnings, "\n"), tc.warnings...)
		})
	}
}
