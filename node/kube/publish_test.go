// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	api "aipub.io/aipub/api/v1alpha1"
)

func ready(status metav1.ConditionStatus, reason string) api.NodePartitionStatus {
	return api.NodePartitionStatus{AgentVersion: "v1", Conditions: []metav1.Condition{{Type: api.ConditionReady, Status: status, Reason: reason, Message: reason}}}
}

func TestATransitionTimeOutlivesTheAgent(t *testing.T) {
	scheme, err := Scheme()
	if err != nil {
		t.Fatal(err)
	}
	long := metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	old := &api.NodePartition{ObjectMeta: metav1.ObjectMeta{Name: "gpu-1"}, Status: ready(metav1.ConditionTrue, "Applied")}
	old.Status.Conditions[0].LastTransitionTime = long
	c := fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(old).WithObjects(old).Build()
	p := NewPublisher(c, "gpu-1")
	read := func() api.NodePartition {
		t.Helper()
		var got api.NodePartition
		if err := c.Get(t.Context(), client.ObjectKey{Name: "gpu-1"}, &got); err != nil {
			t.Fatal(err)
		}
		return got
	}

	for range 2 {
		if err := p.Publish(t.Context(), "u", ready(metav1.ConditionTrue, "Applied")); err != nil {
			t.Fatal(err)
		}
	}
	first := read()
	if got := first.Status.Conditions[0].LastTransitionTime; !got.Time.Equal(long.Time) {
		t.Errorf("transition at %v, want %v", got, long)
	}
	if err := p.Publish(t.Context(), "u", ready(metav1.ConditionTrue, "Applied")); err != nil {
		t.Fatal(err)
	}
	if again := read(); again.ResourceVersion != first.ResourceVersion {
		t.Error("it was written though nothing changed")
	}
	if err := p.Publish(t.Context(), "u", ready(metav1.ConditionFalse, "Hardware")); err != nil {
		t.Fatal(err)
	}
	if got := read().Status.Conditions; len(got) != 1 || !got[0].LastTransitionTime.After(long.Time) {
		t.Errorf("conditions %v; want one with a new transition time", got)
	}
}

func TestANodePartitionThatWasDeletedIsMadeAgain(t *testing.T) {
	scheme, err := Scheme()
	if err != nil {
		t.Fatal(err)
	}
	c := fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(&api.NodePartition{}).Build()
	p := NewPublisher(c, "gpu-1")
	if err := p.Publish(t.Context(), "u", ready(metav1.ConditionTrue, "Applied")); err != nil {
		t.Fatal(err)
	}
	if err := c.Delete(t.Context(), &api.NodePartition{ObjectMeta: metav1.ObjectMeta{Name: "gpu-1"}}); err != nil {
		t.Fatal(err)
	}
	changed := ready(metav1.ConditionFalse, "Hardware")
	if err := p.Publish(t.Context(), "u", changed); err == nil {
		t.Fatal("no error though the object is gone")
	}
	if err := p.Publish(t.Context(), "u", changed); err != nil {
		t.Fatal(err)
	}
	var got api.NodePartition
	if err := c.Get(t.Context(), client.ObjectKey{Name: "gpu-1"}, &got); err != nil {
		t.Fatal(err)
	}
	if len(got.OwnerReferences) != 1 || got.OwnerReferences[0].UID != "u" || got.Status.Conditions[0].Reason != "Hardware" {
		t.Errorf("made again as %+v", got)
	}
}
