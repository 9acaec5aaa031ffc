// SPDX-License-Identifier: Apache-2.0

package kubelet_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"aipub.io/aipub/deviceplugin/kubelet"
	"aipub.io/aipub/gpu"
	"aipub.io/aipub/test/kit/fakekubelet"
	"aipub.io/aipub/test/kit/rig"
)

// script is a kubelet and a node for a Poller. Each question is a step.
type script struct {
	fail    bool
	settled bool
	marks   uint64
	asked   chan struct{}
	seen    chan gpu.Observation
}

func newScript() *script {
	return &script{asked: make(chan struct{}, 100), seen: make(chan gpu.Observation, 100)}
}

func (s *script) List(context.Context) ([]gpu.Holding, error) {
	s.asked <- struct{}{}
	if s.fail {
		return nil, errors.New("kubelet is down")
	}
	return []gpu.Holding{{Set: "small", Slices: []gpu.SliceID{"a"}}}, nil
}

func (s *script) Mark() uint64 { s.marks++; return s.marks }

func (s *script) Observe(o gpu.Observation) bool { s.seen <- o; return s.settled }

func run(t *testing.T, p *kubelet.Poller) {
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { p.Run(ctx) })
	t.Cleanup(func() { cancel(); running.Wait() })
}

func next[T any](t *testing.T, ch <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-ch:
	case <-time.After(rig.Patience):
		t.Fatal("did not come")
	}
	return v
}

func TestThePollerBringsBothWitnessesTogether(t *testing.T) {
	s := newScript()
	s.settled = true
	pods := []gpu.Pod{{Namespace: "team", Name: "p"}}
	run(t, &kubelet.Poller{Lister: s, Observer: s, Interval: time.Hour, Pods: func() ([]gpu.Pod, bool) { return pods, true }})
	want := gpu.Observation{Mark: 1, Holdings: []gpu.Holding{{Set: "small", Slices: []gpu.SliceID{"a"}}}, Pods: pods, PodsKnown: true}
	if diff := cmp.Diff(want, next(t, s.seen)); diff != "" {
		t.Errorf("observation (-want +got):\n%s", diff)
	}
}

func TestThePollerLooksAtOnceOnATrigger(t *testing.T) {
	s := newScript()
	s.settled = true
	trigger := make(chan struct{}, 1)
	run(t, &kubelet.Poller{Lister: s, Observer: s, Interval: time.Hour, Trigger: trigger})
	next(t, s.seen)
	trigger <- struct{}{}
	if o := next(t, s.seen); o.Mark != 2 || o.PodsKnown {
		t.Errorf("observation %+v, want the second, without pods", o)
	}
}

func TestThePollerLooksAgainSoonWhileSomethingIsOpen(t *testing.T) {
	for name, s := range map[string]*script{"not settled": {}, "no answer": {fail: true, settled: true}} {
		t.Run(name, func(t *testing.T) {
			s.asked, s.seen = make(chan struct{}, 100), make(chan gpu.Observation, 100)
			run(t, &kubelet.Poller{Lister: s, Observer: s, Interval: time.Hour, Soon: time.Millisecond})
			for range 3 {
				next(t, s.asked)
			}
		})
	}
}

func TestAnAnswerAboveFourMebibytesIsRead(t *testing.T) {
	k := fakekubelet.New(fakekubelet.Config{Dir: t.TempDir()})
	if err := k.Start(); err != nil {
		t.Fatal(err)
	}
	defer k.Stop()
	const containers = 80_000
	pod := fakekubelet.Pod{UID: "u", Namespace: "team", Name: "p"}
	for range containers {
		pod.Containers = append(pod.Containers, fakekubelet.Container{Name: "a container with a name so long that the answer is longer than usual"})
	}
	if err := k.Admit(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	client, err := kubelet.DialPodResources(k.PodResourcesSocket())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if _, err := client.List(t.Context()); err != nil {
		t.Error(err)
	}
}
