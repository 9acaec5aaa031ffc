// SPDX-License-Identifier: Apache-2.0

package kubelet_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"

	"aipub.io/aipub/gpu"
	"aipub.io/aipub/test/kit"
	"aipub.io/aipub/test/kit/rig"
)

var sets = []string{"seventh-a", "seventh-b", "seventh-c", "seventh-d"}

const perSet = 16 * 7

func node() gpu.Layout {
	b := kit.MakeLayout(16).NUMA(2)
	for _, set := range sets {
		b.Block(set, 14)
	}
	return b.Obj()
}

// start joins everything and waits until all sets are listed.
func start(b *testing.B) *rig.Rig {
	r := rig.New(b, node(), rig.Options{})
	listed(r)
	return r
}

func listed(r *rig.Rig) {
	r.Eventually("all sets are listed", func() bool {
		status := r.Kubelet.Node()
		for _, set := range sets {
			if status[gpu.ResourceName(set)].Capacity != perSet || status[gpu.ResourceName(set)].Allocatable == 0 {
				return false
			}
		}
		return true
	})
}

// dial connects to a set's plugin as the kubelet does.
func dial(b *testing.B, r *rig.Rig, set string) pluginapi.DevicePluginClient {
	paths, err := filepath.Glob(filepath.Join(r.Dir, "aipub-set-"+set+"-*.sock"))
	if err != nil || len(paths) != 1 {
		b.Fatalf("sockets of %s: %v, %v", set, paths, err)
	}
	conn, err := grpc.NewClient("unix://"+paths[0], grpc.WithTransportCredentials(insecure.NewCredentials()))
	r.Must(err)
	b.Cleanup(func() { conn.Close() })
	return pluginapi.NewDevicePluginClient(conn)
}

// report prints the p-th part of the samples (0.99, or 1 for the largest).
func report(b *testing.B, name string, samples []time.Duration, p float64, unit time.Duration, word string) {
	b.Helper()
	slices.Sort(samples)
	at := func(p float64) float64 {
		return float64(samples[min(len(samples)-1, int(p*float64(len(samples))))]) / float64(unit)
	}
	fmt.Printf("BENCH %s %.3f %s\n", name, at(p), word)
	b.Logf("%s: %d samples, p50 %.3f, p99 %.3f, max %.3f %s", name, len(samples), at(0.5), at(0.99), at(1), word)
	if dir := os.Getenv("BENCH_OUT"); dir != "" {
		var lines strings.Builder
		for _, s := range samples {
			fmt.Fprintln(&lines, s.Nanoseconds())
		}
		if err := os.WriteFile(filepath.Join(dir, name+".ns.txt"), []byte(lines.String()), 0o600); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkAllocate is the time of an Allocate call while all four sets have a
// stream, and each allocation changes the lists of the three others.
func BenchmarkAllocate(b *testing.B) {
	for b.Loop() {
		r := start(b)
		clients := map[string]pluginapi.DevicePluginClient{}
		for _, set := range sets {
			clients[set] = dial(b, r, set)
		}
		var samples []time.Duration
		for i := 0; len(samples) < 2000; i++ {
			set := sets[i%len(sets)]
			id, ok := free(r, set)
			if !ok {
				r.Eventually("claims have run out", func() bool { _, ok = free(r, set); return ok })
				continue
			}
			req := &pluginapi.AllocateRequest{ContainerRequests: []*pluginapi.ContainerAllocateRequest{{DevicesIds: []string{id}}}}
			began := time.Now()
			_, err := clients[set].Allocate(context.Background(), req)
			samples = append(samples, time.Since(began))
			r.Must(err)
		}
		report(b, "node.allocate_p99_ms", samples, 0.99, time.Millisecond, "ms")
	}
}

func free(r *rig.Rig, set string) (string, bool) {
	for _, st := range r.State.Snapshot().Slices {
		if st.Slice.Set == set && st.State == gpu.StateFree {
			return string(st.Slice.ID), true
		}
	}
	return "", false
}

// BenchmarkListUpdate is the time from a change of the node's state to the
// arrival of the last of four lists.
func BenchmarkListUpdate(b *testing.B) {
	for b.Loop() {
		r := start(b)
		ctx, cancel := context.WithCancel(context.Background())
		var streams []pluginapi.DevicePlugin_ListAndWatchClient
		for _, set := range sets {
			s, err := dial(b, r, set).ListAndWatch(ctx, &pluginapi.Empty{})
			r.Must(err)
			_, err = s.Recv()
			r.Must(err)
			streams = append(streams, s)
		}
		var samples []time.Duration
		for i := range 1000 {
			began := time.Now()
			r.State.SetHealth(kit.UUID(i%16), -1, -1, gpu.Health{OK: i/16%2 == 1, Reason: "XidCritical"})
			for _, s := range streams {
				if _, err := s.Recv(); err != nil {
					b.Fatal(err)
				}
			}
			samples = append(samples, time.Since(began))
		}
		cancel()
		report(b, "node.list_update_p99_ms", samples, 0.99, time.Millisecond, "ms")
	}
}

// BenchmarkReregister is the time from the start of a kubelet to the arrival of
// all four lists, while pods come and go. The slowest of 50 counts.
func BenchmarkReregister(b *testing.B) {
	for b.Loop() {
		r := start(b)
		done := make(chan struct{})
		load := make(chan struct{})
		go func() {
			defer close(load)
			for i := 0; ; i++ {
				select {
				case <-done:
					return
				default:
				}
				pod := r.Pod(sets[i%len(sets)], 1)
				if r.Admit(pod) == nil {
					r.Kubelet.Delete(pod.UID)
				} else {
					time.Sleep(time.Millisecond) // the kubelet is starting
				}
			}
		}()
		var samples []time.Duration
		for range 50 {
			r.Kubelet.Stop()
			began := time.Now()
			r.Must(r.Kubelet.Start())
			listed(r)
			samples = append(samples, time.Since(began))
		}
		close(done)
		<-load
		report(b, "node.reregister_s", samples, 1, time.Second, "s")
	}
}
