// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"

	"aipub.io/aipub/test/kit"
)

// cluster is 1,000 nodes of 16 GPUs and 432 slices each: seven of ten full of small
// ones, two partly held at random, one empty.
func cluster() []Node {
	r := rand.New(rand.NewPCG(1, 12))
	nodes := make([]Node, 1000)
	for k := range nodes {
		l := kit.MakeLayout(16).NUMA(2).Block("tiny", 5).Block("small", 25).Block("medium", 50).Whole("large", 1).Obj()
		n := makeNode(fmt.Sprintf("node-%04d", k), l)
		left := l.Remaining(nil)
		for _, s := range l.Slices {
			_, fits := s.Fits(left)
			take := k < 700 && s.Set == "small" || k >= 700 && k < 900 && r.IntN(20) == 0
			if !fits || !take {
				continue
			}
			n.Held[s.ID] = fmt.Sprintf("team/pod-%d-%s", k, s.ID)
			for _, u := range s.Uses {
				left[u.Counter] -= u.Amount
			}
		}
		n.compile()
		nodes[k] = n
	}
	return nodes
}

// BenchmarkPlace places and takes pods of all sizes, with those that ended before
// given back, and reports the CPU time of Place alone: a machine that does other
// things too does not change it much.
func BenchmarkPlace(b *testing.B) {
	sets := []string{"tiny", "small", "medium", "large"}
	for name, pod := range map[string]*corev1.PodSpec{
		"anywhere": nil,
		"limited": {NodeSelector: map[string]string{"kubernetes.io/hostname": "node-0950"},
			Tolerations: []corev1.Toleration{{Key: "node.kubernetes.io/not-ready", Operator: corev1.TolerationOpExists}}},
	} {
		b.Run(name, func(b *testing.B) {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			r := NewRoom(cluster())
			random := rand.New(rand.NewPCG(2, 12))
			var took []time.Duration
			var seats []string
			b.ResetTimer()
			for k := 0; b.Loop(); k++ {
				a := Ask{UID: fmt.Sprint(k), Sets: map[string]int64{sets[random.IntN(len(sets))]: 1}, Pod: pod}
				begin := cpuTime(b)
				s, why := r.Place(a)
				took = append(took, cpuTime(b)-begin)
				if why == nil {
					r.Take(s)
					seats = append(seats, s.UID)
				}
				if len(seats) > 20 {
					i := random.IntN(len(seats))
					r.Give(seats[i])
					seats = slices.Delete(seats, i, i+1)
				}
			}
			report(b, took)
		})
	}
}

// cpuTime is what this thread has used; the benchmark is locked to it.
func cpuTime(b *testing.B) time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ts); err != nil {
		b.Fatal(err)
	}
	return time.Duration(ts.Nano())
}

func report(b *testing.B, took []time.Duration) {
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-cpu-µs")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-cpu-µs")
	b.ReportMetric(float64(took[len(took)-1].Microseconds()), "max-cpu-µs")
}

// each measures the CPU time of one step, prepared apart.
func each(b *testing.B, prepare func() func()) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var took []time.Duration
	for b.Loop() {
		step := prepare()
		begin := cpuTime(b)
		step()
		took = append(took, cpuTime(b)-begin)
	}
	report(b, took)
}

// BenchmarkRefused asks for what there is no room for, each time after a change.
func BenchmarkRefused(b *testing.B) {
	r := NewRoom(cluster()[:700])
	each(b, func() func() {
		r.Give("nobody-of-that-name")
		return func() {
			if _, why := r.Place(Ask{UID: "large", Sets: map[string]int64{"large": 1}}); why == nil {
				b.Fatal("there is room")
			}
		}
	})
}

// BenchmarkKeep keeps room for two large ones where every GPU of 900 nodes is in
// use.
func BenchmarkKeep(b *testing.B) {
	nodes := cluster()[:900]
	for i := range nodes {
		used := map[string]bool{}
		for _, s := range nodes[i].Layout.Slices {
			if _, held := nodes[i].Held[s.ID]; held {
				used[s.GPUs[0]] = true
			}
		}
		for g := range 16 {
			if !used[kit.UUID(g)] {
				nodes[i].Held[kit.ID(g, "small", 0)] = "team/pod"
			}
		}
		nodes[i].compile()
	}
	each(b, func() func() {
		r := NewRoom(nodes)
		return func() {
			if !r.Keep([]Ask{{UID: "head", Sets: map[string]int64{"large": 2}}}) {
				b.Fatal("nothing was kept")
			}
		}
	})
}

// BenchmarkNewRoom is the beginning of each decision.
func BenchmarkNewRoom(b *testing.B) {
	nodes := cluster()
	each(b, func() func() {
		return func() {
			if len(NewRoom(nodes).tables) != len(nodes) {
				b.Fatal("nodes are missing")
			}
		}
	})
}
