// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"aipub.io/aipub/api/v1alpha1"
	quotakube "aipub.io/aipub/quota/kube"
)

// TestGates follows pods of tenants from admission to an open gate, with the chart's
// webhooks, policies and rights.
func TestGates(t *testing.T) {
	c := startCluster(t)
	c.letTenantsIn(t)
	c.mustCreate(t, namespace("team", map[string]string{v1alpha1.ProjectLabel: "vision"}))
	c.mustCreate(t, convert[v1alpha1.PartitionPolicy](t, h200Policy))
	c.addNode(t, "n1", "h200", 2)
	// Nodes are made with a taint, which a controller takes off once they are ready.
	untaint := client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"taints":null}}`))
	if err := c.Patch(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}, untaint); err != nil {
		t.Fatal(err)
	}
	c.report(t, "n1", func(status *v1alpha1.NodePartitionStatus) {
		status.Counters = map[string]int64{"gpu0": 1, "gpu1": 1}
		for i := range 2 {
			status.Slices = append(status.Slices, v1alpha1.NodeSlice{
				ID: fmt.Sprintf("large-%d", i), Set: "large", GPUs: []string{fmt.Sprintf("GPU-n1-%d", i)}, State: "Free",
				Uses: map[string]int64{fmt.Sprintf("gpu%d", i): 1}, Since: metav1.Now(),
			})
		}
	})
	c.expectSets(t, "cpu: 2 8Gi 0/0/0", "large: 28 240Gi 0/0/0")
	c.mustCreate(t, convert[v1alpha1.ResourceSetQuota](t, "metadata: {name: vision}\nspec: {scope: {project: vision}, limits: {sets: {large: 1}}}"))

	alice, bob := c.as(t, "alice"), c.as(t, "bob")
	for i, who := range []client.Client{alice, bob} {
		if err := who.Create(t.Context(), setPod("team", fmt.Sprintf("p%d", i), "large=1")); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			c.awaitGate(t, "p0")
		}
	}
	first := c.awaitGate(t, "p0")
	if first.Annotations[v1alpha1.NodeAnnotation] != "n1" || first.Annotations[v1alpha1.UserAnnotation] != "alice" {
		t.Errorf("annotations %v", first.Annotations)
	}
	eventually(t, "p1 is told why it waits", func() error {
		pod := c.pod(t, "p1")
		for _, condition := range pod.Status.Conditions {
			if condition.Type == v1alpha1.ConditionAllocated && condition.Reason == v1alpha1.ReasonProjectQuotaReached && strings.Contains(condition.Message, "alice 1") {
				return nil
			}
		}
		return fmt.Errorf("conditions %v", pod.Status.Conditions)
	})
	// The set becomes smaller while p1 waits.
	smaller := client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"sets":[{"name":"large","gpu":{"count":1},"cpu":"20","memory":"100Gi"}]}}`))
	if err := c.Patch(t.Context(), &v1alpha1.PartitionPolicy{ObjectMeta: metav1.ObjectMeta{Name: "h200"}}, smaller); err != nil {
		t.Fatal(err)
	}
	c.expectSets(t, "large: 20 100Gi 0/0/0")
	requireResources(t, c.pod(t, "p1"), "28", "240Gi")
	if err := alice.Delete(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	second := c.awaitGate(t, "p1")
	requireResources(t, second, "20", "100Gi")
	if second.Annotations[v1alpha1.UserAnnotation] != "bob" {
		t.Errorf("annotations %v", second.Annotations)
	}
	var fence corev1.ConfigMap
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: v1alpha1.SystemNamespace, Name: quotakube.FenceName}, &fence); err != nil {
		t.Errorf("the fence: %v", err)
	}
}

func (c *cluster) pod(t *testing.T, name string) *corev1.Pod {
	t.Helper()
	pod := &corev1.Pod{}
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: "team", Name: name}, pod); err != nil {
		t.Fatal(err)
	}
	return pod
}

// awaitGate waits until a pod's gate is open.
func (c *cluster) awaitGate(t *testing.T, name string) *corev1.Pod {
	t.Helper()
	eventually(t, "gate of "+name, func() error {
		closed := func(g corev1.PodSchedulingGate) bool { return g.Name == v1alpha1.QuotaGate }
		if pod := c.pod(t, name); slices.ContainsFunc(pod.Spec.SchedulingGates, closed) {
			return fmt.Errorf("it is closed: %v", pod.Status.Conditions)
		}
		return nil
	})
	return c.pod(t, name)
}
