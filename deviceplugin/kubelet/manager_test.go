// SPDX-License-Identifier: Apache-2.0

package kubelet_test

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"aipub.io/aipub/deviceplugin/kubelet"
	"aipub.io/aipub/gpu"
	"aipub.io/aipub/test/kit"
	"aipub.io/aipub/test/kit/fakekubelet"
	"aipub.io/aipub/test/kit/rig"
)

func mixed() gpu.Layout {
	return kit.MakeLayout(2).NUMA(2).Block("small", 25).Block("medium", 50).Whole("large", 1).CPU("cpu", 3, 3).Obj()
}

// allListed waits until the node status is that of an empty mixed node.
func allListed(r *rig.Rig) {
	r.T.Helper()
	for set, n := range map[string]int{"small": 8, "medium": 4, "large": 2, "cpu": 3} {
		r.Allocatable(set, n)
	}
}

func sockets(t *testing.T, dir string) (names []string) {
	t.Helper()
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if strings.HasPrefix(f.Name(), "aipub-set-") {
			names = append(names, f.Name())
		}
	}
	return names
}

func TestEverySetIsAdvertisedAndAPodGetsItsSlice(t *testing.T) {
	r := rig.New(t, mixed(), rig.Options{})
	allListed(r)
	pod, ids := r.MustRun("small", 2)
	got := r.Kubelet.Response(pod.UID, "main", "aipub.io/set-small")
	var names []string
	for _, d := range got.CdiDevices {
		names = append(names, d.Name)
	}
	slices.Sort(names)
	if diff := cmp.Diff([]string{"aipub.io/set=" + ids[0], "aipub.io/set=" + ids[1]}, names); diff != "" {
		t.Errorf("CDI devices (-want +got):\n%s", diff)
	}
	want := []string{"00000001-small-0", "00000001-small-1"} // one GPU, the other stays whole
	if diff := cmp.Diff(want, ids); diff != "" {
		t.Errorf("slices (-want +got):\n%s", diff)
	}
}

func TestTheResponseOfTheConfigurationReachesTheContainer(t *testing.T) {
	r := rig.New(t, mixed(), rig.Options{Plugins: kubelet.Config{Response: func(s []gpu.Slice) (kubelet.Response, error) {
		return kubelet.Response{
			CDIDevices:  []string{"aipub.io/set=x"},
			Envs:        map[string]string{"AIPUB_SLICE": string(s[0].ID)},
			Mounts:      []kubelet.Mount{{HostPath: "/host", ContainerPath: "/in", ReadOnly: true}},
			Devices:     []kubelet.DeviceNode{{HostPath: "/dev/nvidia0", ContainerPath: "/dev/nvidia0", Permissions: "rw"}},
			Annotations: map[string]string{"a": "b"},
		}, nil
	}}})
	allListed(r)
	pod, ids := r.MustRun("large", 1)
	got := r.Kubelet.Response(pod.UID, "main", "aipub.io/set-large")
	if got.Envs["AIPUB_SLICE"] != ids[0] || got.Annotations["a"] != "b" || got.CdiDevices[0].Name != "aipub.io/set=x" {
		t.Errorf("response %v", got)
	}
	if m := got.Mounts[0]; m.HostPath != "/host" || m.ContainerPath != "/in" || !m.ReadOnly {
		t.Errorf("mount %v", m)
	}
	if d := got.Devices[0]; d.HostPath != "/dev/nvidia0" || d.ContainerPath != "/dev/nvidia0" || d.Permissions != "rw" {
		t.Errorf("device %v", d)
	}
}

func TestOverlappingSizesBecomeUnavailableAndComeBack(t *testing.T) {
	r := rig.New(t, mixed(), rig.Options{})
	allListed(r)
	pod, _ := r.MustRun("small", 1)
	r.Allocatable("medium", 3)
	r.Allocatable("large", 1)
	r.Allocatable("small", 8) // what is held counts as allocatable
	if d := len(r.Kubelet.Devices("aipub.io/set-medium")); d != 4 {
		t.Errorf("%d medium devices are listed, want 4: the blocked one stays, unhealthy", d)
	}
	r.Kubelet.Delete(pod.UID)
	allListed(r)
}

func TestALostRaceBetweenSizesIsRefusedWithAClearError(t *testing.T) {
	var mu sync.Mutex
	refusals := map[string]int{}
	r := rig.New(t, mixed(), rig.Options{
		Kubelet: fakekubelet.Config{Streams: -1}, // lists come by hand: the kubelet does not know yet
		Plugins: kubelet.Config{StreamGrace: time.Hour, Metrics: kubelet.Metrics{
			Allocated: func(set string, _ time.Duration, refusal string) {
				mu.Lock()
				defer mu.Unlock()
				refusals[set+" "+refusal]++
			}}},
	})
	r.Eventually("registered", func() bool { return r.Kubelet.Connected("aipub.io/set-large") == 1 })
	r.Eventually("registered", func() bool { return r.Kubelet.Connected("aipub.io/set-medium") == 1 })
	r.Kubelet.Pretend("aipub.io/set-medium", string(kit.ID(0, "medium", 0)))
	r.Kubelet.Pretend("aipub.io/set-large", string(kit.ID(0, "large", 0)))
	r.MustRun("medium", 1)
	err := r.Admit(r.Pod("large", 1))
	for _, part := range []string{"claim slice 00000001-large-0 for aipub.io/set-large", "overlaps", "00000001-medium-0 of set medium is held by", "create the pod again"} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("error %v lacks %q", err, part)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	if diff := cmp.Diff(map[string]int{"medium ": 1, "large Overlap": 1}, refusals); diff != "" {
		t.Errorf("counted (-want +got):\n%s", diff)
	}
}

func TestAKubeletRestartUnderLoadRegistersEverythingAnew(t *testing.T) {
	r := rig.New(t, mixed(), rig.Options{})
	allListed(r)
	pod, ids := r.MustRun("small", 3)
	for range 5 {
		r.Must(r.Kubelet.Restart())
		r.Allocatable("small", 8)
		r.Allocatable("medium", 2) // three quarters of the first GPU are held
		r.Allocatable("large", 1)
		r.Allocatable("cpu", 3)
		if err := r.Admit(pod); err != nil {
			t.Fatalf("the running pod was refused: %v", err)
		}
		if diff := cmp.Diff(ids, r.Kubelet.Held(pod.UID, "main", "aipub.io/set-small")); diff != "" {
			t.Fatalf("slices of the running pod (-before +after):\n%s", diff)
		}
		r.MustRun("cpu", 1) // a pod that was waiting
		for _, p := range r.Kubelet.Pods()[1:] {
			r.Kubelet.Delete(p.UID)
		}
	}
	r.Eventually("old sockets are gone", func() bool { return len(sockets(t, r.Dir)) == 4 })
}

func TestAfterARebootThePodsAreAdmittedWithTheSameSlices(t *testing.T) {
	r := rig.New(t, mixed(), rig.Options{})
	allListed(r)
	pod, ids := r.MustRun("medium", 1)
	r.Eventually("holder is known", func() bool { return held(r, ids[0]).Pod == pod.Name })
	before := r.Kubelet.Devices("aipub.io/set-medium")
	r.StopPlugins()
	r.Must(r.Kubelet.Reboot())
	r.StartPlugins()
	r.Allocatable("medium", 4)
	r.Allocatable("large", 1)
	if diff := cmp.Diff(before, r.Kubelet.Devices("aipub.io/set-medium")); diff != "" {
		t.Errorf("device IDs (-before +after):\n%s", diff)
	}
	r.Must(r.Admit(pod))
	if diff := cmp.Diff(ids, r.Kubelet.Held(pod.UID, "main", "aipub.io/set-medium")); diff != "" {
		t.Errorf("slices (-before +after):\n%s", diff)
	}
}

func held(r *rig.Rig, id string) gpu.Holder {
	for _, st := range r.State.Snapshot().Slices {
		if string(st.Slice.ID) == id {
			return st.Holder
		}
	}
	return gpu.Holder{}
}

func TestAPluginRestartKeepsIDsAndRunningPods(t *testing.T) {
	r := rig.New(t, mixed(), rig.Options{})
	allListed(r)
	pod, ids := r.MustRun("small", 1)
	before := r.Kubelet.Healthy("aipub.io/set-small")
	r.StopPlugins()
	r.Allocatable("small", 0) // as with every plugin that has gone
	if n := r.Kubelet.Node()["aipub.io/set-small"].Capacity; n != 8 {
		t.Errorf("capacity %d, want 8 for five minutes", n)
	}
	r.StartPlugins()
	r.Allocatable("small", 8)
	if diff := cmp.Diff(before, r.Kubelet.Healthy("aipub.io/set-small")); diff != "" {
		t.Errorf("device IDs (-before +after):\n%s", diff)
	}
	if diff := cmp.Diff(ids, r.Kubelet.Held(pod.UID, "main", "aipub.io/set-small")); diff != "" {
		t.Errorf("slices (-before +after):\n%s", diff)
	}
	r.Allocatable("medium", 3)
}

func TestAKubeletThatListsNothingYetFreesNothing(t *testing.T) {
	r := rig.New(t, mixed(), rig.Options{})
	allListed(r)
	pod, ids := r.MustRun("large", 1)
	r.Eventually("holder is known", func() bool { return held(r, ids[0]).Pod == pod.Name })
	r.Kubelet.Stop()
	r.Must(r.Kubelet.StartBlind())
	r.Allocatable("small", 4)
	client, err := kubelet.DialPodResources(r.Kubelet.PodResourcesSocket())
	r.Must(err)
	defer client.Close()
	list, err := client.List(t.Context())
	if err != nil || len(list) != 0 {
		t.Fatalf("list %v, %v; want an empty one", list, err)
	}
	// Two rounds of the poller have certainly seen it.
	for range 2 {
		mark := r.State.Mark()
		r.State.Observe(gpu.Observation{Mark: mark, Pods: []gpu.Pod{{Namespace: "team", Name: pod.Name, UID: pod.UID}}, PodsKnown: true})
	}
	if h := held(r, ids[0]); h.Pod != pod.Name {
		t.Errorf("held by %v, want %s", h, pod.Name)
	}
	r.Kubelet.Sync()
	r.Kubelet.Delete(pod.UID)
	allListed(r)
}

func TestSetsComeAndGoLive(t *testing.T) {
	var mu sync.Mutex
	streams := map[string]int{} // as a metric keeps them
	change := func(f func()) {
		mu.Lock()
		defer mu.Unlock()
		f()
	}
	r := rig.New(t, mixed(), rig.Options{Plugins: kubelet.Config{Metrics: kubelet.Metrics{
		Streams:   func(set string, delta int) { change(func() { streams[set] += delta }) },
		Withdrawn: func(set string) { change(func() { delete(streams, set) }) },
	}}})
	allListed(r)
	pod, ids := r.MustRun("medium", 1)
	r.State.SetLayout(kit.MakeLayout(2).Block("small", 25).Block("tiny", 10).Obj())
	r.Allocatable("tiny", 15)
	r.Allocatable("medium", 1) // held: it must stay advertised
	if diff := cmp.Diff(ids, r.Kubelet.Devices("aipub.io/set-medium")); diff != "" {
		t.Errorf("medium devices (-want +got):\n%s", diff)
	}
	r.Eventually("large is withdrawn", func() bool {
		return r.Kubelet.Node()["aipub.io/set-large"] == fakekubelet.Amount{} && r.Kubelet.Connected("aipub.io/set-large") == 0
	})
	if got := r.Manager.Registered(); !slices.Contains(got, "medium") {
		t.Errorf("registered %v, want medium among them", got)
	}
	r.Kubelet.Delete(pod.UID)
	r.Eventually("medium is withdrawn", func() bool {
		return r.Kubelet.Node()["aipub.io/set-medium"] == fakekubelet.Amount{} && r.Kubelet.Connected("aipub.io/set-medium") == 0
	})
	r.Allocatable("tiny", 20)
	r.Eventually("sets that are gone are counted no more", func() (same bool) {
		change(func() { same = maps.Equal(streams, map[string]int{"small": 1, "tiny": 1}) })
		return same
	})
	r.State.SetLayout(mixed())
	allListed(r)
}

func TestAKubeletThatIsDownIsWaitedFor(t *testing.T) {
	for name, end := range map[string]func(*fakekubelet.Kubelet){"stopped": (*fakekubelet.Kubelet).Stop, "killed": (*fakekubelet.Kubelet).Kill} {
		t.Run(name, func(t *testing.T) {
			r := rig.New(t, mixed(), rig.Options{Plugins: kubelet.Config{RetryMax: 20 * time.Millisecond}})
			allListed(r)
			end(r.Kubelet)
			// Allocate is not possible meanwhile, but the layout may change.
			r.State.SetLayout(kit.MakeLayout(2).Block("tiny", 10).Obj())
			r.Must(r.Kubelet.Start())
			r.Allocatable("tiny", 20)
		})
	}
	t.Run("not there at the start", func(t *testing.T) {
		r := rig.New(t, mixed(), rig.Options{Down: true})
		if got := r.Manager.Registered(); len(got) != 0 {
			t.Errorf("registered %v without a kubelet", got)
		}
		r.Must(r.Kubelet.Start())
		allListed(r)
	})
}

func TestADeletedSocketIsServedAnewWithoutAGap(t *testing.T) {
	r := rig.New(t, mixed(), rig.Options{})
	allListed(r)
	old := sockets(t, r.Dir)
	for _, name := range old {
		r.Must(os.Remove(filepath.Join(r.Dir, name)))
	}
	gap := false
	r.Eventually("all are served on new sockets", func() bool {
		gap = gap || r.Kubelet.Allocatable("aipub.io/set-small") != 8
		now := sockets(t, r.Dir)
		return len(now) == 4 && !slices.ContainsFunc(now, func(s string) bool { return slices.Contains(old, s) }) &&
			slices.Equal(r.Manager.Registered(), []string{"cpu", "large", "medium", "small"})
	})
	if gap {
		t.Error("the resource was gone meanwhile")
	}
	r.MustRun("small", 1)
	r.Allocatable("medium", 3)
}

func TestSocketsOfADeadAgentAreRemovedAndThoseOfALiveOneKept(t *testing.T) {
	r := rig.New(t, mixed(), rig.Options{})
	allListed(r)
	live := sockets(t, r.Dir)
	dead := filepath.Join(r.Dir, "aipub-set-small-dead.sock")
	fakekubelet.LeaveBehind(dead)
	other, err := kubelet.NewManager(r.State, kubelet.Config{Dir: r.Dir})
	r.Must(err)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var running sync.WaitGroup
	running.Go(func() {
		if err := other.Run(ctx); err != nil {
			t.Errorf("run: %v", err)
		}
	})
	r.Eventually("both agents are connected", func() bool { return r.Kubelet.Connected("aipub.io/set-small") == 2 })
	if _, err := os.Lstat(dead); !os.IsNotExist(err) {
		t.Errorf("the dead agent's socket is still there: %v", err)
	}
	for _, name := range live {
		if _, err := os.Lstat(filepath.Join(r.Dir, name)); err != nil {
			t.Errorf("the live agent's socket: %v", err)
		}
	}
	cancel()
	running.Wait()
	r.Eventually("one is left", func() bool { return r.Kubelet.Connected("aipub.io/set-small") == 1 })
	allListed(r) // an upgrade leaves no gap
}

func TestAKubeletThatStopsListeningIsRegisteredWithAnew(t *testing.T) {
	r := rig.New(t, mixed(), rig.Options{Plugins: kubelet.Config{StreamGrace: 20 * time.Millisecond}})
	allListed(r)
	r.Kubelet.Disconnect("aipub.io/set-small")
	r.Allocatable("small", 8)
}

func TestNeitherNoStreamNorTwoHoldUpTheState(t *testing.T) {
	for name, streams := range map[string]int{"none": -1, "two": 2} {
		t.Run(name, func(t *testing.T) {
			r := rig.New(t, mixed(), rig.Options{Kubelet: fakekubelet.Config{Streams: streams}, Plugins: kubelet.Config{StreamGrace: time.Hour}})
			r.Eventually("connected", func() bool { return r.Kubelet.Connected("aipub.io/set-small") == 1 })
			for i := range 1000 {
				r.State.SetHealth(kit.UUID(0), -1, -1, gpu.Health{OK: i%2 == 1, Reason: "XidCritical"})
			}
			if streams > 0 {
				allListed(r)
			}
		})
	}
}

func TestASetThatCannotBeAdvertisedIsNamedAndHoldsNobodyUp(t *testing.T) {
	layout := kit.MakeLayout(1).Block("small", 25).Block("Bad/Name", 50).Obj()
	r := rig.New(t, layout, rig.Options{})
	r.Allocatable("small", 4)
	problems := r.Manager.Problems()
	if err := problems["Bad/Name"]; err == nil || !strings.Contains(err.Error(), `the set name "Bad/Name" makes no valid resource name`) {
		t.Errorf("problems %v", problems)
	}
	if len(problems) != 1 {
		t.Errorf("problems %v, want one", problems)
	}
}

func TestPreStartIsCalledAtEachStartAndMayRefuse(t *testing.T) {
	var got []gpu.SliceID
	fail := false
	r := rig.New(t, mixed(), rig.Options{Plugins: kubelet.Config{PreStart: func(_ context.Context, ids []gpu.SliceID) error {
		got = append(got, ids...)
		if fail {
			return errors.New("no hardware")
		}
		return nil
	}}})
	allListed(r)
	pod, ids := r.MustRun("small", 1)
	r.Must(r.Kubelet.StartContainer(t.Context(), pod.UID, "main"))
	fail = true
	if err := r.Kubelet.StartContainer(t.Context(), pod.UID, "main"); err == nil || !strings.Contains(err.Error(), "no hardware") {
		t.Errorf("error %v, want no hardware", err)
	}
	if want := []gpu.SliceID{gpu.SliceID(ids[0]), gpu.SliceID(ids[0])}; !slices.Equal(got, want) {
		t.Errorf("called for %v, want %v", got, want)
	}
}
