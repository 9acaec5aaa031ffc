//go:build e2e

// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/partitioner"
	partkube "aipub.io/aipub/partitioner/kube"

	corev1 "k8s.io/api/core/v1"
)

// Three H200, one by blocks, one by MIG, one whole.
var wholeNode = map[string]int64{"small": 4, "medium": 2, "mig-small": 4, "mig-medium": 1, "large": 1, "cpu": 2}

func TestTheNodeAdvertisesWhatThePlanSays(t *testing.T) {
	expectAllocatable(t, wholeNode)
	ctx := t.Context()

	var policy api.PartitionPolicy
	if err := shared.Get(ctx, client.ObjectKey{Name: "demo"}, &policy); err != nil {
		t.Fatal(err)
	}
	var node corev1.Node
	if err := shared.Get(ctx, client.ObjectKey{Name: nodeName}, &node); err != nil {
		t.Fatal(err)
	}
	var np api.NodePartition
	if err := shared.Get(ctx, client.ObjectKey{Name: nodeName}, &np); err != nil {
		t.Fatal(err)
	}
	n := partkube.FromNodePartition(&np, node.Status.Allocatable)
	division := partitioner.Divide(policy.Spec, []partitioner.Node{n})
	_, report := partitioner.Plan(n, policy.Spec, division.Sets)
	want := map[string]int64{}
	for _, s := range report.Sets {
		want[s.Name] = int64(s.Alone)
	}
	if len(want) != len(policy.Spec.Sets) {
		t.Fatalf("the plan has %d sets, the policy %d: %+v", len(want), len(policy.Spec.Sets), report.Rejections)
	}
	expectAllocatable(t, want)

	for _, s := range division.Sets {
		var rs api.ResourceSet
		if err := shared.Get(ctx, client.ObjectKey{Name: s.Name}, &rs); err != nil {
			t.Fatal(err)
		}
		if rs.Spec.CPU.MilliValue() != s.CPUMilli || rs.Spec.Memory.Value() != s.MemoryBytes {
			t.Errorf("ResourceSet %s has cpu %s and memory %s, the plan %dm and %d", s.Name, &rs.Spec.CPU, &rs.Spec.Memory, s.CPUMilli, s.MemoryBytes)
		}
	}
}

func TestTheCommandLineShowsNodesAndSets(t *testing.T) {
	nodes := mustKubectl(t, "aipub", "nodes")
	for _, want := range []string{nodeName, "demo", "Block", "MIG", "Whole", "H200", "580.95.05"} {
		if !strings.Contains(nodes, want) {
			t.Errorf("kubectl aipub nodes does not say %q:\n%s", want, nodes)
		}
	}
	eventually(t, 20*time.Second, "kubectl aipub sets counts what the node offers", func(context.Context) error {
		sets, err := kubectl("aipub", "sets")
		if err != nil {
			return fmt.Errorf("%w: %s", err, sets)
		}
		for set := range wholeNode {
			if !strings.Contains(sets, "aipub.io/set-"+set) {
				return fmt.Errorf("it does not show %s:\n%s", set, sets)
			}
		}
		return nil
	})
	plan := mustKubectl(t, "aipub", "plan", "-f", "testdata/policy.yaml", "--dry-run")
	for set := range wholeNode {
		if !strings.Contains(plan, set) {
			t.Errorf("kubectl aipub plan does not explain %s:\n%s", set, plan)
		}
	}
}
