// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"maps"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/gpu"
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

// The time of a free slice is that of the agent before, for as long as this one has
// the slice as it found it.
func TestAFreeSliceKeepsItsTimeAcrossAgents(t *testing.T) {
	scheme, err := Scheme()
	if err != nil {
		t.Fatal(err)
	}
	day := func(n int) metav1.Time { return metav1.NewTime(time.Date(2026, 1, n, 3, 4, 5, 0, time.UTC)) }
	slice := func(id string, state api.SliceState, since metav1.Time, holder string) api.NodeSlice {
		one := api.NodeSlice{ID: id, Set: "s", State: state, Since: since}
		if holder != "" {
			one.Holder = &api.Holder{Namespace: "n", Pod: holder}
		}
		return one
	}
	const free, held, blocked = api.SliceState(gpu.StateFree), api.SliceState(gpu.StateHeld), api.SliceState(gpu.StateBlocked)
	old := &api.NodePartition{ObjectMeta: metav1.ObjectMeta{Name: "gpu-1"}}
	old.Status.Slices = []api.NodeSlice{
		slice("free", free, day(1), ""), slice("late", free, day(1), ""), slice("blocked", blocked, day(1), ""),
		slice("freed", held, day(1), "p"), slice("ahead", free, day(9), ""), slice("held", held, day(1), "p"),
	}
	c := fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(old).WithObjects(old).Build()
	p := NewPublisher(c, "gpu-1")
	publish := func(all ...api.NodeSlice) map[string]int {
		t.Helper()
		if err := p.Publish(t.Context(), "u", api.NodePartitionStatus{Slices: all}); err != nil {
			t.Fatal(err)
		}
		var got api.NodePartition
		if err := c.Get(t.Context(), client.ObjectKey{Name: "gpu-1"}, &got); err != nil {
			t.Fatal(err)
		}
		days := map[string]int{}
		for _, one := range got.Status.Slices {
			days[one.ID] = one.Since.UTC().Day()
		}
		return days
	}
	got := publish(
		slice("free", free, day(5), ""), slice("blocked", free, day(5), ""), slice("freed", free, day(5), ""),
		slice("ahead", free, day(5), ""), slice("held", held, day(3), "p"), slice("new", free, day(5), ""),
	)
	if want := (map[string]int{"free": 1, "blocked": 5, "freed": 5, "ahead": 5, "held": 3, "new": 5}); !maps.Equal(got, want) {
		t.Errorf("since %v, want %v", got, want)
	}
	if got := publish(slice("free", free, day(5), ""), slice("late", free, day(5), "")); got["free"] != 1 || got["late"] != 1 {
		t.Errorf("%v; want both free since the first, one of which this agent knew only later", got)
	}
	if got := publish(slice("free", held, day(6), "p"), slice("late", free, day(5), "")); got["free"] != 6 || got["late"] != 1 {
		t.Errorf("%v; want one held since the 6th, and the other as before", got)
	}
	if got := publish(slice("free", free, day(7), "")); got["free"] != 7 {
		t.Errorf("free since %v, want since it was given back on the 7th", got)
	}
}
