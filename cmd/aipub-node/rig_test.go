// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/testr"
	"sigs.k8s.io/yaml"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/cdi"
	"aipub.io/aipub/gpu"
	"aipub.io/aipub/gpu/nvml"
	"aipub.io/aipub/node"
	"aipub.io/aipub/partitioner"
	loan "aipub.io/aipub/sharer/memory"
	"aipub.io/aipub/test/gpusim"
	"aipub.io/aipub/test/kit/fakekubelet"
)

// patience is how long a condition may take to come true.
const patience = 30 * time.Second

// rig is a node: a simulated machine, a fake kubelet, a fake cluster, and the
// agent's real code between them.
type rig struct {
	t       *testing.T
	machine *gpusim.Machine // nil on a machine without GPUs
	options options
	kubelet *fakekubelet.Kubelet
	cluster *fakeCluster
	reports *reports
	news    *news
	lowered *lowered
	gpus    []gpu.GPU

	agent *agent
	stop  func() // nil while the agent does not run
	pods  int
}

// newRig makes a node that is powered on; the agent does not run yet. An empty
// description is a machine without GPUs.
func newRig(t *testing.T, description string) *rig {
	t.Helper()
	base, err := os.MkdirTemp("", "an") // short: socket paths are limited
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, cluster: newFakeCluster(), reports: &reports{}, news: &news{}, lowered: &lowered{}}
	plugins := filepath.Join(base, "dp")
	r.kubelet = fakekubelet.New(fakekubelet.Config{Dir: plugins})
	r.cluster.kubelet = r.kubelet
	root := filepath.Join(base, "root")
	if description != "" {
		r.power(description, base, root)
	}
	t.Cleanup(func() { // before the machine is let go
		r.end()
		r.kubelet.Stop()
		if err := os.RemoveAll(base); err != nil {
			t.Errorf("clean up: %v", err)
		}
	})
	if description == "" {
		bootID := filepath.Join(root, "proc/sys/kernel/random/boot_id")
		r.must(os.MkdirAll(filepath.Dir(bootID), 0o755))
		r.must(os.WriteFile(bootID, []byte("boot-1\n"), 0o644))
		r.must(os.MkdirAll(filepath.Join(root, "sys"), 0o755))
	}
	r.options = options{
		node: "gpu-1", driverRoot: root, driverMount: root, devRoot: root, cdi: true,
		cdiDir: filepath.Join(base, "cdi"), stateDir: filepath.Join(base, "state"), pluginDir: plugins,
		sys: filepath.Join(root, "sys"), proc: filepath.Join(root, "proc"), metricsAddress: "127.0.0.1:0", logLevel: "info",
	}
	if r.machine != nil {
		r.options.nvmlLibrary = r.machine.LibraryPath()
	}
	r.must(os.MkdirAll(plugins, 0o755))
	r.must(r.kubelet.Start())
	r.options.podResources = r.kubelet.PodResourcesSocket()
	return r
}

// power makes the simulated machine and reads its GPUs.
func (r *rig) power(description, base, root string) {
	r.t.Helper()
	probe := filepath.Join(base, "node")
	if err := syscall.Mknod(probe, syscall.S_IFCHR|0o600, 195<<8); errors.Is(err, syscall.EPERM) {
		r.t.Skip("device nodes cannot be made: the test needs CAP_MKNOD; run it as root")
	}
	r.machine = gpusim.New(r.t, description)
	r.machine.Activate()
	r.machine.Ctl("install-root", root)
	d, err := nvml.Open(nvml.Config{LibraryPath: r.machine.LibraryPath(), Sysfs: filepath.Join(root, "sys")})
	r.must(err)
	inv, err := d.Inventory(r.t.Context())
	r.must(err)
	r.must(d.Close())
	r.gpus = inv.GPUs
}

// quick is the pace of tests.
func quick() pace {
	return pace{
		open: 50 * time.Millisecond, read: 20 * time.Second, close: 30 * time.Second,
		publish: 5 * time.Millisecond, republish: 50 * time.Millisecond, recheck: 100 * time.Millisecond, activity: 20 * time.Millisecond,
		sharesFirst: 100 * time.Millisecond, shares: 100 * time.Millisecond,
		settle: 50 * time.Millisecond, observe: 50 * time.Millisecond, soon: 10 * time.Millisecond,
		loans: loan.Config{Arrival: 200 * time.Millisecond, Calm: time.Second, Settle: 200 * time.Millisecond},
		watch: nvml.WatchConfig{ProbeEvery: 100 * time.Millisecond, StableFor: 200 * time.Millisecond},
	}
}

// start runs the agent.
func (r *rig) start() {
	r.t.Helper()
	log := logr.Discard()
	if testing.Verbose() {
		log = testr.New(r.t)
	}
	a, err := newAgent(r.options, log, newMetrics(), quick())
	r.must(err)
	r.agent = a
	r.cluster.apply = a.apply
	ctx, cancel := context.WithCancel(logr.NewContext(context.Background(), log))
	done := make(chan error, 1)
	go func() {
		done <- a.live(ctx, surroundings{cluster: r.cluster, publisher: r.reports, events: r.news, lower: r.lowered.lower})
	}()
	watching := make(chan struct{})
	go func() { defer close(watching); r.guard(ctx, a) }()
	r.stop = func() {
		cancel()
		select {
		case err := <-done:
			if err != nil {
				r.t.Errorf("live: %v", err)
			}
		case <-time.After(patience):
			r.t.Errorf("the agent does not end")
		}
		<-watching
		if err := node.Invariants(a.state.Snapshot()); err != nil {
			r.t.Errorf("invariants: %v", err)
		}
	}
}

// end stops the agent as SIGTERM does.
func (r *rig) end() {
	if r.stop != nil {
		r.stop()
		r.stop = nil
	}
}

// guard checks, for as long as the agent runs, that nothing is offered before
// it exists: each free slice has its container edits on disk.
func (r *rig) guard(ctx context.Context, a *agent) {
	changed, stop := a.state.Watch()
	defer stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-changed:
		}
		snap := a.state.Snapshot()
		if !a.last().read {
			continue // as remembered: the IDs come first, and a reboot may have emptied the folder
		}
		for _, st := range snap.Slices {
			if st.State != gpu.StateFree {
				continue
			}
			_, err := os.Stat(filepath.Join(r.options.cdiDir, cdi.FileName(st.Slice.ID)))
			if err != nil && a.state.Snapshot().Version == snap.Version {
				r.t.Errorf("slice %s is free without container edits: %v", st.Slice.ID, err)
			}
		}
	}
}

// want gives the cluster a policy; empty takes it away. Its sets get the sizes
// that the controller would give them.
func (r *rig) want(spec string) {
	r.t.Helper()
	d := r.desired()
	if spec != "" {
		p := api.PartitionPolicy{}
		p.Name, p.Generation = "pool", 1
		r.must(yaml.UnmarshalStrict([]byte(spec), &p.Spec))
		p.Spec.NodeSelector.MatchLabels = d.Labels
		d.Policies = []api.PartitionPolicy{p}
		n := partitioner.Node{Name: "gpu-1", CPUMilli: d.CPUMilli, MemoryBytes: d.MemoryBytes, GPUs: r.gpus}
		for _, s := range partitioner.Divide(p.Spec, []partitioner.Node{n}).Sets {
			rs := api.ResourceSet{Spec: s.Spec(p.Name)}
			rs.Name = s.Name
			d.Sets = append(d.Sets, rs)
		}
	}
	r.cluster.set(d)
}

// pod runs a pod of n slices of a set and returns it with their IDs.
func (r *rig) pod(set string, n int) (fakekubelet.Pod, []string) {
	r.t.Helper()
	r.pods++
	name := fmt.Sprintf("pod-%d", r.pods)
	pod := fakekubelet.Pod{UID: "uid-" + name, Namespace: "team", Name: name,
		Containers: []fakekubelet.Container{{Name: "main", Limits: map[string]int{gpu.ResourceName(set): n}}}}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := r.kubelet.Admit(ctx, pod); err != nil {
		r.t.Fatalf("admit %s: %v", pod.Name, err)
	}
	ids := r.kubelet.Held(pod.UID, "main", gpu.ResourceName(set))
	r.eventually("the holder of "+ids[0]+" is known", func() bool { return r.slice(ids[0]).Holder.Pod == name })
	return pod, ids
}

// delete ends a pod.
func (r *rig) delete(p fakekubelet.Pod) {
	r.kubelet.Delete(p.UID)
	notify(r.cluster.pods)
}

// slice is what the agent knows of a slice; zero when it has none.
func (r *rig) slice(id string) gpu.Status {
	for _, st := range r.agent.state.Snapshot().Slices {
		if string(st.Slice.ID) == id {
			return st
		}
	}
	return gpu.Status{}
}

// eventually waits until a condition is true.
func (r *rig) eventually(what string, cond func() bool) {
	r.t.Helper()
	for end := time.Now().Add(patience); !cond(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			r.t.Fatalf("%s: not within %v; told %q: %q; node status %v", what, patience, r.agent.last().reason, r.agent.last().message, r.kubelet.Node())
		}
	}
}

// reason waits until the node's report says so.
func (r *rig) reason(want string) {
	r.t.Helper()
	r.eventually("reason "+want, func() bool { return r.reports.reason() == want })
}

// allocatable waits until the kubelet shows n allocatable slices of a set.
func (r *rig) allocatable(set string, n int) {
	r.t.Helper()
	r.eventually(fmt.Sprintf("%d allocatable of %s", n, set), func() bool { return r.kubelet.Allocatable(gpu.ResourceName(set)) == n })
}

// specs are the slices that have a spec file, sorted.
func (r *rig) specs() []string {
	r.t.Helper()
	entries, err := os.ReadDir(r.options.cdiDir)
	r.must(err)
	var ids []string
	for _, e := range entries {
		if id, ok := cdi.SliceOf(e.Name()); ok {
			ids = append(ids, string(id))
		}
	}
	slices.Sort(ids)
	return ids
}

func (r *rig) must(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}
