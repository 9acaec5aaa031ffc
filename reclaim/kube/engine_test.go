// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	api "aipub.io/aipub/api/v1alpha1"
)

// silent records no events.
type silent struct{}

func (silent) Eventf(_, _ runtime.Object, _, _, _, _ string, _ ...any) {}

// bench is an engine at noon, on a clock that stands until it is set, and a policy that
// an engine counted for last at a time.
type bench struct {
	*Engine
	machine *clocktesting.FakePassiveClock
}

func newBench(t *testing.T, counted *metav1.Time) bench {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := api.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	p := &api.ReclaimPolicy{ObjectMeta: metav1.ObjectMeta{Name: "everyone"}, Status: api.ReclaimPolicyStatus{CountedUntil: counted},
		Spec: api.ReclaimPolicySpec{Scope: api.ReclaimScope{Everyone: true}, MaxOccupancyHours: 72}}
	machine := clocktesting.NewFakePassiveClock(noon)
	reader := fake.NewClientBuilder().WithScheme(scheme).WithObjects(p).Build()
	return bench{NewEngine(reader, Config{Clock: NewClock(machine), Events: silent{}}), machine}
}

// decide is what is kept of the clock of a Workspace, with a pod or without.
func (b bench) decide(t *testing.T, o api.Occupancy, pod *corev1.Pod) api.Occupancy {
	t.Helper()
	w := &api.Workspace{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "lab", UID: "lab"}}
	w.Status.Occupancy = &o
	d, _, err := b.Decide(t.Context(), workspaceCase(w, pod))
	if err != nil {
		t.Fatal(err)
	}
	return d.Occupancy
}

func boundPod(uid string, since time.Duration) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "lab-0", UID: types.UID(uid)}, Spec: corev1.PodSpec{NodeName: "n1"},
		Status: corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: *at(since)}}}}
}

const hour = time.Hour

// held70 has held its set by the pod p1 for 70 hours until noon.
func held70() api.Occupancy { return api.Occupancy{Since: at(-70 * hour), Pod: "p1"} }

func TestAnEngineThatBeginsAnewKnowsWhatWasHeldBefore(t *testing.T) {
	for name, c := range map[string]struct {
		counted *metav1.Time
		pod     *corev1.Pod
		held    time.Duration
		since   *metav1.Time
	}{
		"the same pod":                      {at(-hour), boundPod("p1", -70*hour), 0, at(-70 * hour)},
		"no pod any more":                   {at(-hour), nil, 69 * hour, nil},
		"another pod":                       {at(-hour), boundPod("p2", -10*time.Minute), 69 * hour, at(-10 * time.Minute)},
		"another pod, which was there":      {at(-hour), boundPod("p2", -2*hour), 0, at(-70 * hour)},
		"it began while no engine was here": {at(-80 * hour), nil, 0, nil},
		"there never was an engine":         {nil, boundPod("p2", -10*time.Minute), 0, at(-10 * time.Minute)},
	} {
		t.Run(name, func(t *testing.T) {
			got := newBench(t, c.counted).decide(t, held70(), c.pod)
			if got.HeldSeconds != int64(c.held/time.Second) || !got.Since.Equal(c.since) {
				t.Errorf("held %d s before, since %v; want %s, since %v", got.HeldSeconds, got.Since, c.held, c.since)
			}
		})
	}
}

// TestAPodThatGoesAtOnceIsCountedUntilThen deletes a pod without grace, long after the
// engine had a reason to look.
func TestAPodThatGoesAtOnceIsCountedUntilThen(t *testing.T) {
	b := newBench(t, at(-80*hour))
	b.machine.SetTime(noon.Add(-69 * hour))
	o := b.decide(t, held70(), boundPod("p1", -70*hour))
	b.machine.SetTime(noon)
	stopped := b.decide(t, o, nil)
	if stopped.Since != nil || stopped.HeldSeconds != int64(70*hour/time.Second) {
		t.Errorf("held %d s, since %v; want 70 h", stopped.HeldSeconds, stopped.Since)
	}
	if again := b.decide(t, o, nil); again.HeldSeconds != stopped.HeldSeconds {
		t.Errorf("what could not be written is %d s when it is tried again", again.HeldSeconds)
	}
	waits := b.decide(t, stopped, nil)
	b.machine.SetTime(noon.Add(3 * hour))
	got := b.decide(t, waits, boundPod("p2", 3*hour))
	if got.HeldSeconds != stopped.HeldSeconds || !got.Since.Equal(at(3*hour)) || got.ExpiresAt == nil || !got.ExpiresAt.Equal(at(5*hour)) {
		t.Errorf("it waited and goes on with %+v; want 70 h held, since %v, until %v", got, at(3*hour), at(5*hour))
	}
}

// TestWhatIsCountedNowSaysNothingOfTheEngineBefore has this engine count first.
func TestWhatIsCountedNowSaysNothingOfTheEngineBefore(t *testing.T) {
	b := newBench(t, at(-hour))
	b.begin([]api.ReclaimPolicy{{Status: api.ReclaimPolicyStatus{CountedUntil: at(-2 * hour)}}}, b.Now())
	if got := b.decide(t, held70(), nil); got.HeldSeconds != int64(68*hour/time.Second) {
		t.Errorf("held %d s, want 68 h", got.HeldSeconds)
	}
}
