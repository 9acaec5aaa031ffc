// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
)

const setSmall = corev1.ResourceName("aipub.io/set-small")

// fakeKubelet writes Node status as a kubelet does whose plugin stopped at the
// start: the capacity stays for five minutes, is set to zero once, and is then
// forgotten.
type fakeKubelet struct {
	client client.Client
	node   string
	start  time.Time
	let    bool
	t      *testing.T
}

// lease is the leader election's.
var lease = client.ObjectKey{Namespace: "aipub-system", Name: "aipub-controller"}

const kubeletGrace = 5 * time.Minute

func (k *fakeKubelet) update(ctx context.Context, now time.Time) {
	k.t.Helper()
	if k.let {
		return
	}
	var node corev1.Node
	if err := k.client.Get(ctx, client.ObjectKey{Name: k.node}, &node); err != nil {
		k.t.Fatal(err)
	}
	capacity := "4"
	if now.Sub(k.start) > kubeletGrace {
		capacity, k.let = "0", true
	}
	node.Status.Capacity[setSmall] = resource.MustParse(capacity)
	node.Status.Allocatable[setSmall] = resource.MustParse("0")
	if err := k.client.Status().Update(ctx, &node); err != nil {
		k.t.Fatal(err)
	}
}

func nodeWithSet(name string, ready corev1.ConditionStatus) *corev1.Node {
	node := makeNode(name, "a")
	node.Status.Capacity = corev1.ResourceList{"cpu": resource.MustParse("64"), setSmall: resource.MustParse("4"), "example.com/nic": resource.MustParse("1")}
	node.Status.Allocatable[setSmall] = resource.MustParse("4")
	node.Status.Conditions[0].Status = ready
	return &node
}

// runCleaner drives a cleaner and the kubelets on one clock until the cleaner
// ends or limit has passed.
func runCleaner(t *testing.T, c client.Client, limit time.Duration, kubelets ...*fakeKubelet) (took time.Duration, progress string, err error) {
	t.Helper()
	clock := testclock.NewFakeClock(noon.Time)
	var out bytes.Buffer
	cleaner := NewCleaner(c, CleanupConfig{WebhookConfiguration: "aipub", Lease: lease, Progress: &out, Clock: clock})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- cleaner.Run(ctx) }()
	deadline := time.Now().Add(time.Minute)
	for {
		select {
		case err := <-done:
			return clock.Since(noon.Time), out.String(), err
		default:
		}
		if time.Now().After(deadline) {
			t.Fatal("the cleaner neither waits nor ends")
		}
		if !clock.HasWaiters() {
			time.Sleep(100 * time.Microsecond)
			continue
		}
		if clock.Since(noon.Time) > limit {
			cancel()
		}
		for _, k := range kubelets {
			k.update(t.Context(), clock.Now())
		}
		clock.Step(5 * time.Second)
	}
}

func TestCleanerWaitsForTheKubelet(t *testing.T) {
	name := metav1.ObjectMeta{Name: "aipub"}
	c := fake.NewClientBuilder().WithStatusSubresource(&corev1.Node{}).WithObjects(
		nodeWithSet("a1", corev1.ConditionTrue),
		&admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: name},
		&admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: name},
		&admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "someone-else"}},
		&coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: lease.Namespace, Name: lease.Name}},
		&coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: lease.Namespace, Name: "someone-else"}},
	).Build()
	took, progress, err := runCleaner(t, c, 10*time.Minute, &fakeKubelet{client: c, node: "a1", start: noon.Time, t: t})
	if err != nil {
		t.Fatalf("Run: %v\n%s", err, progress)
	}
	if took < kubeletGrace || took > kubeletGrace+time.Minute {
		t.Errorf("it took %s, want the kubelet's 5 minutes and up to one more", took)
	}
	var node corev1.Node
	if err := c.Get(t.Context(), client.ObjectKey{Name: "a1"}, &node); err != nil {
		t.Fatal(err)
	}
	if len(namesOn(&node).all) > 0 || len(node.Status.Capacity) != 2 || len(node.Status.Allocatable) != 2 {
		t.Errorf("capacity %v, allocatable %v; want only the set gone", node.Status.Capacity, node.Status.Allocatable)
	}
	var left admissionregistrationv1.ValidatingWebhookConfigurationList
	if err := c.List(t.Context(), &left); err != nil || len(left.Items) != 1 || left.Items[0].Name != "someone-else" {
		t.Errorf("webhook configurations left: %v (%v), want someone-else's alone", left.Items, err)
	}
	var leases coordinationv1.LeaseList
	if err := c.List(t.Context(), &leases); err != nil || len(leases.Items) != 1 || leases.Items[0].Name != "someone-else" {
		t.Errorf("leases left: %v (%v), want someone-else's alone", leases.Items, err)
	}
	for _, line := range []string{
		"deleted MutatingWebhookConfiguration aipub", "deleted ValidatingWebhookConfiguration aipub",
		"node a1: the kubelet still keeps aipub.io/set-small (4); it lets go 5 minutes after the node agent stopped",
		"node a1: removed aipub.io/set-small", "every node is clean", "deleted Lease aipub-controller",
	} {
		if n := strings.Count(progress, line+"\n"); n != 1 {
			t.Errorf("line %q appears %d times in:\n%s", line, n, progress)
		}
	}
}

func TestCleanerDoesNotWaitForADeadKubelet(t *testing.T) {
	c := fake.NewClientBuilder().WithStatusSubresource(&corev1.Node{}).WithObjects(nodeWithSet("dead", corev1.ConditionUnknown)).Build()
	took, progress, err := runCleaner(t, c, 10*time.Minute)
	if err != nil || took > time.Minute {
		t.Errorf("took %s, error %v; want success within a minute\n%s", took, err, progress)
	}
}

func TestCleanerSaysWhatIsLeft(t *testing.T) {
	c := fake.NewClientBuilder().WithStatusSubresource(&corev1.Node{}).WithObjects(nodeWithSet("a1", corev1.ConditionTrue)).Build()
	_, _, err := runCleaner(t, c, time.Minute, &fakeKubelet{client: c, node: "a1", start: noon.Time, t: t})
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("Run: %v, want the context's error", err)
	}
	for _, part := range []string{"node a1", "aipub.io/set-small (4)", "no aipub-node pod is left", "run cleanup again"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("the error lacks %q: %v", part, err)
		}
	}
}

func TestCleanerHasNothingToDoOnACleanCluster(t *testing.T) {
	clean := makeNode("a1", "a")
	c := fake.NewClientBuilder().WithObjects(&clean).Build()
	if took, progress, err := runCleaner(t, c, time.Minute); err != nil || took > 0 {
		t.Errorf("took %s, error %v\n%s", took, err, progress)
	}
}
