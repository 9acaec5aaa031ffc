// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"maps"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"aipub.io/aipub/gpu"
	"aipub.io/aipub/test/gpusim"
)

// lowered keeps what the Node was lowered to.
type lowered struct {
	mu   sync.Mutex
	last map[string]int64
}

func (l *lowered) lower(_ context.Context, available map[string]int64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.last == nil {
		l.last = map[string]int64{}
	}
	maps.Copy(l.last, available)
	return nil
}

// to reports what a set was lowered to.
func (l *lowered) to(set string) (n int64, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n, ok = l.last[gpu.ResourceName(set)]
	return n, ok
}

func TestAClaimLowersTheSetsThatOverlap(t *testing.T) {
	r := newRig(t, gpusim.ThreeH200)
	r.want(allBlocks)
	r.start()
	r.allocatable("small", 12)
	r.allocatable("medium", 6)
	r.reason("Applied")
	pod, _ := r.pod("small", 1)
	r.eventually("medium lowered to 5", func() bool { n, ok := r.lowered.to("medium"); return ok && n == 5 })

	r.delete(pod)
	r.allocatable("medium", 6) // raised by the kubelet alone
	r.pod("medium", 1)
	r.eventually("small lowered to 10", func() bool { n, ok := r.lowered.to("small"); return ok && n == 10 })
	if n, _ := r.lowered.to("medium"); n != 5 {
		t.Errorf("medium was set to %d by a claim of its own", n)
	}
}

func TestOnlyWhatFellIsLowered(t *testing.T) {
	cases := map[string]struct{ before, now, want map[string]int64 }{
		"one falls, one rises, one stays": {
			before: map[string]int64{"a": 3, "b": 1, "c": 2},
			now:    map[string]int64{"a": 2, "b": 4, "c": 2},
			want:   map[string]int64{"a": 2},
		},
		"a set that is gone has none": {
			before: map[string]int64{"a": 3}, now: map[string]int64{}, want: map[string]int64{"a": 0},
		},
		"a new set is the kubelet's to tell": {
			before: map[string]int64{}, now: map[string]int64{"a": 3}, want: map[string]int64{},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, fallen(tc.before, tc.now)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
