// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "aipub.io/aipub/api/v1alpha1"
)

func fromVersion(version string) *metav1.ListOptions {
	return &metav1.ListOptions{ResourceVersion: version}
}

// get reads a pod from the API server.
func (c *apiServer) get(t *testing.T, namespace, name string) *corev1.Pod {
	t.Helper()
	pod := &corev1.Pod{}
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, pod); err != nil {
		t.Fatal(err)
	}
	return pod
}

func isOpen(pod *corev1.Pod) bool {
	return !slices.ContainsFunc(pod.Spec.SchedulingGates, func(g corev1.PodSchedulingGate) bool { return g.Name == api.QuotaGate })
}

func (c *apiServer) requireOpen(t *testing.T, namespace, name string) *corev1.Pod {
	t.Helper()
	eventually(t, "gate of "+name, func() error {
		if !isOpen(c.get(t, namespace, name)) {
			return fmt.Errorf("it is closed")
		}
		return nil
	})
	return c.get(t, namespace, name)
}

// requireCondition waits for a pod's condition aipub.io/Allocated.
// Several wants are each right.
func (c *apiServer) requireCondition(t *testing.T, namespace, name string, want ...string) corev1.PodCondition {
	t.Helper()
	var found corev1.PodCondition
	eventually(t, "condition of "+name, func() error {
		for _, condition := range c.get(t, namespace, name).Status.Conditions {
			if condition.Type == api.ConditionAllocated {
				found = condition
			}
		}
		if got := string(found.Status) + " " + found.Reason; !slices.Contains(want, got) {
			return fmt.Errorf("it is %q, want %q", got, want)
		}
		return nil
	})
	return found
}

// finish ends a pod as a kubelet does.
func (c *apiServer) finish(t *testing.T, namespace, name string) {
	t.Helper()
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"status":{"phase":"Succeeded"}}`))
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	if err := c.Status().Patch(t.Context(), pod, patch); err != nil {
		t.Fatal(err)
	}
}

// TestGatesOnARealAPIServer follows a leader on one kube-apiserver.
func TestGatesOnARealAPIServer(t *testing.T) {
	c := startCluster(t)
	c.set(t, "small", 6300)
	c.set(t, "large", 25200)
	c.node(t, "n1", 2)
	leader := c.lead(t, "first", nil)
	for _, part := range []struct {
		name string
		run  func(*testing.T, *apiServer)
	}{
		{"a pod gets its node and is told", testOpens},
		{"affinity is tightened and nothing else", testAffinity},
		{"who waits is told why, and goes when there is room", testWaits},
		{"who waits for others takes no quota", testOtherGates},
		{"quotas and queues show what is held and what waits", testStatuses},
		{"a pod whose node is lost is made again", testNodeLost},
		{"a pod whose set has changed gets its size", testSetChanged},
		{"a size that is refused opens no gate", testResizeRefused},
		{"gates of a namespace that is managed no more are opened", testUnmanaged},
		{"a Workspace has its place, and says when it is due back", testWorkspaces},
		{"kinds of others have their place", testFurtherKinds},
		{"what was borrowed goes back to whom it belongs", testYieldsQuota},
		{"who borrows makes room", testYieldsRoom},
		{"another yields for one that is protected", testYieldsInstead},
		{"nobody yields in vain", testNobodyYieldsInVain},
	} {
		if !t.Run(part.name, func(t *testing.T) { part.run(t, c) }) {
			return
		}
	}
	leader.end(t)
	t.Run("clean-up opens every gate", func(t *testing.T) { testOpenAll(t, c) })
}

func testOpens(t *testing.T, c *apiServer) {
	c.project(t, "vision")
	c.mustCreate(t, gatedPod("vision", "alice", "bare"))
	pod := c.requireOpen(t, "vision", "bare")
	if pod.Annotations[api.NodeAnnotation] != "n1" || pod.Annotations[api.OpenedAnnotation] != "Within" {
		t.Errorf("annotations %v", pod.Annotations)
	}
	preferred := pod.Spec.Affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution
	if len(preferred) != 1 || preferred[0].Weight != 100 || pod.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution != nil {
		t.Errorf("a bare pod must prefer its node and not require it: %+v", pod.Spec.Affinity.NodeAffinity)
	}
	c.requireCondition(t, "vision", "bare", "True Opened")
	c.finish(t, "vision", "bare")
}

func testAffinity(t *testing.T, c *apiServer) {
	pod := ownedBy(gatedPod("vision", "alice", "choosy"), "Job", "choosy", "u-choosy")
	exists := func(key string) corev1.NodeSelectorTerm {
		return corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: key, Operator: corev1.NodeSelectorOpDoesNotExist}}}
	}
	pod.Spec.Affinity = &corev1.Affinity{
		NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
			NodeSelectorTerms: []corev1.NodeSelectorTerm{exists("a"), exists("b")},
		}},
		PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
			TopologyKey: "kubernetes.io/hostname", LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"x": "y"}},
		}}},
	}
	c.mustCreate(t, pod)
	pod = c.requireOpen(t, "vision", "choosy")
	terms := pod.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
	if len(terms) != 2 {
		t.Fatalf("terms %+v", terms)
	}
	for _, term := range terms {
		if len(term.MatchExpressions) != 1 || len(term.MatchFields) != 1 || term.MatchFields[0].Values[0] != "n1" {
			t.Errorf("term %+v: want its own expression and the node", term)
		}
	}
	if pod.Spec.Affinity.PodAntiAffinity == nil {
		t.Error("the pod's anti-affinity is gone")
	}
	c.finish(t, "vision", "choosy")
}

func testWaits(t *testing.T, c *apiServer) {
	c.quota(t, "vision", api.QuotaScope{Project: "vision"}, 2)
	for _, name := range []string{"a", "b", "c"} {
		c.mustCreate(t, gatedPod("vision", "alice", name))
		if name != "c" {
			c.requireOpen(t, "vision", name)
		}
	}
	condition := c.requireCondition(t, "vision", "c", "False ProjectQuotaReached")
	if condition.Message == "" {
		t.Error("no message")
	}
	c.finish(t, "vision", "a")
	c.requireOpen(t, "vision", "c")
	c.requireCondition(t, "vision", "c", "True Opened")
}

func testOtherGates(t *testing.T, c *apiServer) {
	c.project(t, "both")
	c.quota(t, "both", api.QuotaScope{Project: "both"}, 1)
	held := gatedPod("both", "alice", "held")
	held.Spec.SchedulingGates = append(held.Spec.SchedulingGates, corev1.PodSchedulingGate{Name: "example.com/admission"})
	c.mustCreate(t, held)
	c.requireCondition(t, "both", "held", "False OtherGates")
	c.mustCreate(t, gatedPod("both", "alice", "other"))
	c.requireOpen(t, "both", "other")
	c.finish(t, "both", "other")
	patch := client.RawPatch("application/json-patch+json", []byte(`[{"op": "remove", "path": "/spec/schedulingGates/1"}]`))
	if err := c.Patch(t.Context(), held, patch); err != nil {
		t.Fatal(err)
	}
	c.requireOpen(t, "both", "held")
	c.requireCondition(t, "both", "held", "True Opened")
	c.finish(t, "both", "held")
}

func testStatuses(t *testing.T, c *apiServer) {
	c.mustCreate(t, &api.PriorityQueue{ObjectMeta: metav1.ObjectMeta{Name: "vision"}})
	c.mustCreate(t, gatedPod("vision", "bob", "d"))
	eventually(t, "status of quota vision", func() error {
		var q api.ResourceSetQuota
		if err := c.Get(t.Context(), client.ObjectKey{Name: "vision"}, &q); err != nil {
			return err
		}
		s := q.Status
		if s.Used.Sets["small"] != 2 || s.Waiting.Sets["small"] != 1 || len(s.Users) != 2 || !meta.IsStatusConditionFalse(s.Conditions, api.ConditionOverQuota) {
			return fmt.Errorf("status %+v", s)
		}
		return nil
	})
	eventually(t, "status of queue vision", func() error {
		var q api.PriorityQueue
		if err := c.Get(t.Context(), client.ObjectKey{Name: "vision"}, &q); err != nil {
			return err
		}
		s := q.Status
		if s.Workloads != 1 || len(s.Front) != 1 || s.Front[0].Name != "d" || s.Front[0].Reason != api.ReasonProjectQuotaReached ||
			!meta.IsStatusConditionTrue(s.Conditions, api.ConditionHeadBlocked) {
			return fmt.Errorf("status %+v", s)
		}
		return nil
	})
	var q api.ResourceSetQuota
	if err := c.Get(t.Context(), client.ObjectKey{Name: "vision"}, &q); err != nil {
		t.Fatal(err)
	}
	q.Spec.Limits.Sets["small"] = 1
	if err := c.Update(t.Context(), &q); err != nil {
		t.Fatal(err)
	}
	eventually(t, "OverQuota", func() error {
		if err := c.Get(t.Context(), client.ObjectKey{Name: "vision"}, &q); err != nil {
			return err
		}
		if !meta.IsStatusConditionTrue(q.Status.Conditions, api.ConditionOverQuota) {
			return fmt.Errorf("conditions %+v", q.Status.Conditions)
		}
		return nil
	})
	for _, name := range []string{"b", "c"} {
		if !isOpen(c.get(t, "vision", name)) {
			t.Errorf("a lowered quota closed %s", name)
		}
	}
}

func testNodeLost(t *testing.T, c *apiServer) {
	c.node(t, "n2", 2)
	c.project(t, "speech")
	pod := ownedBy(gatedPod("speech", "carol", "train-1"), "Job", "train", "u-train")
	pod.Spec.NodeSelector = map[string]string{"only": "n2"}
	var node corev1.Node
	if err := c.Get(t.Context(), client.ObjectKey{Name: "n2"}, &node); err != nil {
		t.Fatal(err)
	}
	node.Labels = map[string]string{"only": "n2"}
	if err := c.Update(t.Context(), &node); err != nil {
		t.Fatal(err)
	}
	c.mustCreate(t, pod)
	opened := c.requireOpen(t, "speech", "train-1")
	if opened.Annotations[api.NodeAnnotation] != "n2" {
		t.Fatalf("on node %q", opened.Annotations[api.NodeAnnotation])
	}
	node.Spec.Unschedulable = true
	if err := c.Update(t.Context(), &node); err != nil {
		t.Fatal(err)
	}
	eventually(t, "eviction", func() error {
		err := c.Get(t.Context(), client.ObjectKeyFromObject(pod), &corev1.Pod{})
		if client.IgnoreNotFound(err) != nil || err == nil {
			return fmt.Errorf("the pod is still there: %w", err)
		}
		return nil
	})
}

func testUnmanaged(t *testing.T, c *apiServer) {
	c.project(t, "left")
	c.quota(t, "left", api.QuotaScope{Project: "left"}, 0)
	c.mustCreate(t, gatedPod("left", "alice", "stuck"))
	c.requireCondition(t, "left", "stuck", "False ProjectQuotaReached")
	var ns corev1.Namespace
	if err := c.Get(t.Context(), client.ObjectKey{Name: "left"}, &ns); err != nil {
		t.Fatal(err)
	}
	ns.Labels = nil
	if err := c.Update(t.Context(), &ns); err != nil {
		t.Fatal(err)
	}
	pod := c.requireOpen(t, "left", "stuck")
	if pod.Annotations[api.OpenedAnnotation] != api.ReasonUnmanaged || pod.Spec.Affinity != nil {
		t.Errorf("annotations %v, affinity %v", pod.Annotations, pod.Spec.Affinity)
	}
	c.requireCondition(t, "left", "stuck", "True Unmanaged")
	// Once the namespace is managed again, what runs there is charged, above the limit too.
	ns.Labels = map[string]string{api.ProjectLabel: "left"}
	if err := c.Update(t.Context(), &ns); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the charge of what runs", func() error {
		var q api.ResourceSetQuota
		if err := c.Get(t.Context(), client.ObjectKey{Name: "left"}, &q); err != nil {
			return err
		}
		if q.Status.Used.Sets["small"] != 1 || !meta.IsStatusConditionTrue(q.Status.Conditions, api.ConditionOverQuota) {
			return fmt.Errorf("status %+v", q.Status)
		}
		return nil
	})
	c.finish(t, "left", "stuck")
}

func testOpenAll(t *testing.T, c *apiServer) {
	if isOpen(c.get(t, "vision", "d")) {
		t.Fatal("d should be waiting")
	}
	unlabelled := gatedPod("vision", "alice", "unlabelled")
	unlabelled.Labels = nil
	c.mustCreate(t, unlabelled)
	var progress bytes.Buffer
	fence := client.ObjectKey{Namespace: system, Name: FenceName}
	if err := OpenAll(t.Context(), c, fence, &progress); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"d", "unlabelled"} {
		if !isOpen(c.get(t, "vision", name)) {
			t.Errorf("%s is still closed", name)
		}
	}
	if progress.String() != "opened 2 gates\n" {
		t.Errorf("progress %q", progress.String())
	}
	if err := c.Get(t.Context(), fence, &corev1.ConfigMap{}); client.IgnoreNotFound(err) != nil || err == nil {
		t.Errorf("the fence is still there: %v", err)
	}
}

// testLogWriter leads a log into the test's.
func newTestLogger(t *testing.T) logr.Logger {
	return logr.FromSlogHandler(slogHandler(t))
}
