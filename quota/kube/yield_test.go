// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "aipub.io/aipub/api/v1alpha1"
)

// lend has a user's quota lend at once.
func (c *apiServer) lend(t *testing.T, name string) {
	t.Helper()
	var q api.ResourceSetQuota
	if err := c.Get(t.Context(), client.ObjectKey{Name: name}, &q); err != nil {
		t.Fatal(err)
	}
	none := int32(0)
	q.Spec.Borrowing = &api.Borrowing{MinRunSeconds: &none}
	if err := c.Update(t.Context(), &q); err != nil {
		t.Fatal(err)
	}
}

// jobPod is a pod of a Job, on a node of one pool.
func jobPod(project, user, job, name, pool, set string) *corev1.Pod {
	pod := ownedBy(gatedPod(project, user, name), "Job", job, "u-"+job)
	pod.Spec.NodeSelector = map[string]string{"pool": pool}
	one := corev1.ResourceList{corev1.ResourceName(api.ResourcePrefix + set): resource.MustParse("1")}
	pod.Spec.Containers[0].Resources = corev1.ResourceRequirements{Limits: one, Requests: one}
	pod.Labels[api.SetLabel] = set
	// A finalizer keeps a pod that goes, as its grace period does on a node.
	pod.Finalizers = []string{"test.aipub.io/ending"}
	return pod
}

// pool labels a new node.
func (c *apiServer) pool(t *testing.T, name string, gpus int) {
	t.Helper()
	c.node(t, name, gpus)
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"labels":{"pool":"`+name+`"}}}`))
	if err := c.Patch(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}, patch); err != nil {
		t.Fatal(err)
	}
}

// going waits until some pods are on their way out, and returns their names.
func (c *apiServer) going(t *testing.T, namespace string, n int) []string {
	t.Helper()
	var names []string
	eventually(t, fmt.Sprintf("%d pods to go", n), func() error {
		var pods corev1.PodList
		if err := c.List(t.Context(), &pods, client.InNamespace(namespace)); err != nil {
			return err
		}
		names = nil
		for i := range pods.Items {
			if !pods.Items[i].DeletionTimestamp.IsZero() {
				names = append(names, pods.Items[i].Name)
			}
		}
		if len(names) != n {
			return fmt.Errorf("%v go", names)
		}
		return nil
	})
	return names
}

// release lets a pod that goes be gone.
func (c *apiServer) release(t *testing.T, namespace, name string) {
	t.Helper()
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`))
	if err := c.Patch(t.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}, patch); err != nil {
		t.Fatal(err)
	}
}

// testYieldsQuota has a Job borrow what its project leaves, and yield it to whom it
// belongs.
func testYieldsQuota(t *testing.T, c *apiServer) {
	c.pool(t, "lent", 2)
	c.project(t, "lender")
	c.quota(t, "lender", api.QuotaScope{Project: "lender"}, 2)
	c.quota(t, "lender-bob", api.QuotaScope{Project: "lender", User: "bob"}, 1)
	c.lend(t, "lender-bob")
	for _, name := range []string{"bob-0", "bob-1"} {
		c.mustCreate(t, jobPod("lender", "bob", "bobs", name, "lent", "small"))
		c.requireOpen(t, "lender", name)
	}
	if grade := c.get(t, "lender", "bob-1").Annotations[api.OpenedAnnotation]; grade != "Borrowed" {
		t.Fatalf("bob-1 was opened as %s, want Borrowed", grade)
	}
	c.mustCreate(t, jobPod("lender", "carol", "carols", "carol-0", "lent", "small"))
	if names := c.going(t, "lender", 1); names[0] != "bob-1" {
		t.Errorf("%v go, want bob-1, which borrows", names)
	}
	condition := c.requireCondition(t, "lender", "bob-1", "False YieldedBorrowed")
	if !strings.Contains(condition.Message, "Job lender/carols of project lender") {
		t.Errorf("message %q", condition.Message)
	}
	// The Job makes it again. It stands before carol-0 where both were made in one second,
	// for then the UID of the Job decides, and behind it otherwise.
	c.mustCreate(t, jobPod("lender", "bob", "bobs", "bob-2", "lent", "small"))
	c.requireCondition(t, "lender", "bob-2", "False UserQuotaReached", "False BehindHead")
	c.release(t, "lender", "bob-1")
	c.requireOpen(t, "lender", "carol-0")
	if isOpen(c.get(t, "lender", "bob-2")) {
		t.Error("what yielded is back")
	}
	c.end(t, "lender")
}

// testYieldsRoom has Jobs that borrow yield a whole GPU to somebody of another project.
func testYieldsRoom(t *testing.T, c *apiServer) {
	c.pool(t, "full", 1)
	c.project(t, "guests")
	c.project(t, "owners")
	c.quota(t, "guests-each", api.QuotaScope{Project: "guests", EachUser: true}, 0)
	c.lend(t, "guests-each")
	for i := range 4 {
		name := fmt.Sprintf("bob-%d", i)
		c.mustCreate(t, jobPod("guests", "bob", "guest", name, "full", "small"))
		c.requireOpen(t, "guests", name)
	}
	c.mustCreate(t, jobPod("owners", "alice", "train-1", "alice-0", "full", "large"))
	names := c.going(t, "guests", 4)
	waits := c.requireCondition(t, "owners", "alice-0", "False NoRoomOnNodes")
	if !strings.Contains(waits.Message, "it is within its quota") {
		t.Errorf("message %q", waits.Message)
	}
	goes := c.requireCondition(t, "guests", "bob-0", "False YieldedBorrowed")
	if !strings.Contains(goes.Message, "yields set small to a workload of project owners, which is within its quota") {
		t.Errorf("message %q", goes.Message)
	}
	for i := range 4 {
		c.mustCreate(t, jobPod("guests", "bob", "guest", fmt.Sprintf("again-%d", i), "full", "small"))
	}
	for _, name := range names {
		if isOpen(c.get(t, "owners", "alice-0")) {
			t.Fatal("alice-0 is open while others hold its room")
		}
		c.release(t, "guests", name)
	}
	c.requireOpen(t, "owners", "alice-0")
	c.requireCondition(t, "guests", "again-0", "False NoRoomOnNodes")
	c.end(t, "guests", "owners")
}

// protected fills a node with pods of bob's that borrow, of which a budget protects the
// youngest, bob-3.
func (c *apiServer) protected(t *testing.T, project string) {
	t.Helper()
	c.pool(t, project, 1)
	c.project(t, project)
	c.quota(t, project+"-bob", api.QuotaScope{Project: project, User: "bob"}, 0)
	c.lend(t, project+"-bob")
	for i := range 4 {
		name := fmt.Sprintf("bob-%d", i)
		c.mustCreate(t, jobPod(project, "bob", "guest", name, project, "small"))
		pod := c.requireOpen(t, project, name)
		// A budget protects what runs.
		pod.Status.Phase = corev1.PodRunning
		if err := c.Status().Update(t.Context(), pod); err != nil {
			t.Fatal(err)
		}
	}
	young := c.get(t, project, "bob-3")
	if err := c.Patch(t.Context(), young, client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"labels":{"budget":"none"}}}`))); err != nil {
		t.Fatal(err)
	}
	budget := &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: project, Name: "none"},
		Spec:       policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"budget": "none"}}},
	}
	c.mustCreate(t, budget)
	budget.Status = policyv1.PodDisruptionBudgetStatus{ObservedGeneration: budget.Generation, DesiredHealthy: 1, ExpectedPods: 1}
	if err := c.Status().Update(t.Context(), budget); err != nil {
		t.Fatal(err)
	}
}

func testYieldsInstead(t *testing.T, c *apiServer) {
	c.protected(t, "hosts")
	c.mustCreate(t, jobPod("hosts", "alice", "train-2", "alice-0", "hosts", "small"))
	if names := c.going(t, "hosts", 1); names[0] != "bob-2" {
		t.Errorf("%v go, want bob-2: bob-3 may not be evicted", names)
	}
	c.release(t, "hosts", "bob-2")
	c.requireOpen(t, "hosts", "alice-0")
	c.requireCondition(t, "hosts", "bob-3", "True Opened")
	c.end(t, "hosts")
}

// testNobodyYieldsInVain has somebody wait for a whole GPU, for which all would have to go.
func testNobodyYieldsInVain(t *testing.T, c *apiServer) {
	c.protected(t, "inns")
	c.mustCreate(t, jobPod("inns", "alice", "train-3", "alice-0", "inns", "large"))
	// It is told after the first plan for it was carried out.
	c.requireCondition(t, "inns", "alice-0", "False NoRoomOnNodes")
	c.going(t, "inns", 0)
	c.end(t, "inns")
}

// end removes all pods of some namespaces.
func (c *apiServer) end(t *testing.T, namespaces ...string) {
	t.Helper()
	for _, namespace := range namespaces {
		var pods corev1.PodList
		if err := c.List(t.Context(), &pods, client.InNamespace(namespace)); err != nil {
			t.Fatal(err)
		}
		for i := range pods.Items {
			if err := c.Delete(t.Context(), &pods.Items[i], client.GracePeriodSeconds(0)); client.IgnoreNotFound(err) != nil {
				t.Fatal(err)
			}
			c.release(t, namespace, pods.Items[i].Name)
		}
	}
}
