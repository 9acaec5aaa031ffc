// SPDX-License-Identifier: Apache-2.0

package save

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr/testr"
	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	api "aipub.io/aipub/api/v1alpha1"
)

// node is a runtime and a registry that note what is asked of them.
type node struct {
	mu     sync.Mutex
	calls  []string
	images map[string]bool

	exit    int
	output  string
	hang    bool // a commit ends only when it is given up
	bytes   int64
	fail    map[string]error             // by call
	entered map[string]func(call string) // called meanwhile
}

func (n *node) call(name string, args ...any) error {
	n.mu.Lock()
	n.calls = append(n.calls, strings.TrimSpace(name+" "+strings.Join(strings.Fields(fmt.Sprintln(args...)), " ")))
	enter, err := n.entered[name], n.fail[name]
	n.mu.Unlock()
	if enter != nil {
		enter(name)
	}
	return err
}

func (n *node) Find(_ context.Context, namespace, podUID, container string) (string, error) {
	return "c1", n.call("find", namespace, podUID, container)
}

func (n *node) Exec(_ context.Context, id string, command []string, timeout time.Duration) (int, string, error) {
	return n.exit, n.output, n.call("exec", id, command, timeout)
}

func (n *node) Measure(_ context.Context, id string) (int64, error) {
	return n.bytes, n.call("measure", id)
}

func (n *node) Commit(ctx context.Context, id, image string) (string, int64, error) {
	err := n.call("commit", id, image)
	if n.hang {
		<-ctx.Done()
	}
	if err := errors.Join(err, ctx.Err()); err != nil {
		return "", 0, err
	}
	n.set(image, true)
	return "sha256:1", 77, nil
}

func (n *node) Remove(_ context.Context, image string) error {
	err := n.call("remove", image)
	if err == nil {
		n.set(image, false)
	}
	return err
}

func (n *node) set(image string, there bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.images[image] = there
}

func (n *node) List(context.Context, string) ([]string, error) { return n.held(), nil }

func (n *node) held() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	var all []string
	for image, there := range n.images {
		if there {
			all = append(all, image)
		}
	}
	slices.Sort(all)
	return all
}

func (n *node) made() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.calls)
}

// hub is the registry of a node.
type hub struct{ *node }

func (h hub) Push(_ context.Context, image, as string) (string, error) {
	return "hub.example/" + strings.SplitN(as, ":", 2)[0] + "@sha256:1", h.call("push", image, as)
}

func (h hub) Delete(_ context.Context, digest string) error { return h.call("delete", digest) }

type because string

func (b because) Error() string  { return "it did not work" }
func (b because) Reason() string { return string(b) }

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// rig is a saver on a fake cluster.
type rig struct {
	t     *testing.T
	c     client.WithWatch
	node  *node
	saver *Saver
	now   time.Time
}

func newRig(t *testing.T, change func(*Config), objects ...*api.WorkspaceSnapshot) *rig {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := api.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	b := fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(&api.WorkspaceSnapshot{}).
		WithIndex(&api.WorkspaceSnapshot{}, nodeField, func(o client.Object) []string {
			return []string{o.(*api.WorkspaceSnapshot).Spec.Node}
		})
	for _, o := range objects {
		b = b.WithObjects(o)
	}
	r := &rig{t: t, c: b.Build(), now: start, node: &node{images: map[string]bool{}, fail: map[string]error{}, entered: map[string]func(string){}}}
	config := Config{Node: "n1", Log: testr.New(t), Containers: r.node, Images: r.node, Now: func() time.Time { return r.now }}
	if change != nil {
		change(&config)
	}
	r.saver = New(r.c, config)
	return r
}

func withHub(c *Config) { c.Registry = hub{c.Images.(*node)} }

func snapshot(change func(*api.WorkspaceSnapshot)) *api.WorkspaceSnapshot {
	max := resource.MustParse("1Gi")
	w := &api.WorkspaceSnapshot{
		ObjectMeta: metav1.ObjectMeta{Namespace: "lab", Name: "w-1", UID: "u1", Finalizers: []string{api.SnapshotFinalizer}},
		Spec: api.WorkspaceSnapshotSpec{
			Workspace: "w", Node: "n1", Pod: "w-0", PodUID: "p1", Container: "main", Commit: true, MaxSize: &max,
			Hook: &api.WorkspaceHook{Command: []string{"save", "now"}, TimeoutSeconds: 9},
		},
	}
	if change != nil {
		change(w)
	}
	return w
}

const image = "aipub.io/workspaces/lab/w:w-1"

func (r *rig) reconcile(ctx context.Context, name string) reconcile.Result {
	r.t.Helper()
	got, err := r.saver.Reconcile(ctx, reconcile.Request{NamespacedName: client.ObjectKey{Namespace: "lab", Name: name}})
	if err != nil {
		r.t.Fatal(err)
	}
	return got
}

func (r *rig) get(name string) *api.WorkspaceSnapshot {
	r.t.Helper()
	w := &api.WorkspaceSnapshot{}
	if err := r.c.Get(r.t.Context(), client.ObjectKey{Namespace: "lab", Name: name}, w); err != nil {
		r.t.Fatal(err)
	}
	return w
}

func (r *rig) wantCalls(want ...string) {
	r.t.Helper()
	if diff := cmp.Diff(want, r.node.made()); diff != "" {
		r.t.Errorf("calls (-want +got):\n%s", diff)
	}
}

func (r *rig) wantHeld(want ...string) {
	r.t.Helper()
	if diff := cmp.Diff(want, r.node.held()); diff != "" {
		r.t.Errorf("images on the node (-want +got):\n%s", diff)
	}
}

func (r *rig) wantFailed(reason, words string) {
	r.t.Helper()
	s := r.get("w-1").Status
	if s.Phase != api.SnapshotFailed || s.Reason != reason || !strings.Contains(s.Message, words) || s.FinishedAt == nil || s.Image != "" {
		r.t.Errorf("status %+v; want Failed, %s, a message with %q", s, reason, words)
	}
}

func TestASnapshotGoesThroughItsStepsAndStaysOnTheNode(t *testing.T) {
	r := newRig(t, nil, snapshot(nil))
	steps := map[string]string{}
	for _, call := range []string{"exec", "measure", "commit"} {
		r.node.entered[call] = func(call string) {
			s := r.get("w-1").Status
			steps[call] = string(s.Phase) + " " + s.Step
		}
	}
	r.reconcile(t.Context(), "w-1")
	r.wantCalls("find lab p1 main", "exec c1 [save now] 9s", "measure c1", "commit c1 "+image)
	if diff := cmp.Diff(map[string]string{"exec": "Saving Hook", "measure": "Saving Measure", "commit": "Saving Commit"}, steps); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
	s := r.get("w-1").Status
	if s.Phase != api.SnapshotSaved || s.Image != image || !s.OnNode || s.Bytes != 77 || !s.StartedAt.Time.Equal(start) || s.FinishedAt == nil || s.Reason != "" {
		t.Errorf("status %+v", s)
	}
	r.reconcile(t.Context(), "w-1") // and never again
	r.wantHeld(image)
	if n := len(r.node.made()); n != 4 {
		t.Errorf("what is saved was saved again: %v", r.node.made())
	}
}

func TestWhereThereIsARegistryTheImageGoesThereByDigest(t *testing.T) {
	r := newRig(t, withHub, snapshot(nil))
	r.reconcile(t.Context(), "w-1")
	if s := r.get("w-1").Status; s.Phase != api.SnapshotSaved || s.Image != "hub.example/lab/w@sha256:1" || s.OnNode || s.Bytes != 77 || s.Step != stepPush {
		t.Errorf("status %+v", s)
	}
	r.wantHeld()
}

func TestAHookAloneSavesNoFiles(t *testing.T) {
	r := newRig(t, nil, snapshot(func(w *api.WorkspaceSnapshot) { w.Spec.Commit = false }))
	r.reconcile(t.Context(), "w-1")
	r.wantCalls("find lab p1 main", "exec c1 [save now] 9s")
	if s := r.get("w-1").Status; s.Phase != api.SnapshotSaved || s.Image != "" || s.OnNode {
		t.Errorf("status %+v", s)
	}
}

func TestWhatGoesWrongHasAReasonAndLeavesNoImage(t *testing.T) {
	for name, one := range map[string]struct {
		change        func(*node)
		config        func(*Config)
		reason, words string
	}{
		"container gone": {change: func(n *node) { n.fail["find"] = because(api.ReasonContainerGone) }, reason: api.ReasonContainerGone},
		"hook":           {change: func(n *node) { n.exit, n.output = 3, "cannot write\n" }, reason: api.ReasonHookFailed, words: "exit code 3: cannot write"},
		"hook too long":  {change: func(n *node) { n.fail["exec"] = because(api.ReasonHookFailed) }, reason: api.ReasonHookFailed},
		"too large":      {change: func(n *node) { n.bytes = 1<<30 + 1 }, reason: api.ReasonTooLarge, words: "1025Mi over its image, and 1Gi may be saved"},
		"disk full":      {change: func(n *node) { n.fail["commit"] = because(api.ReasonDiskFull) }, reason: api.ReasonDiskFull},
		"no reason":      {change: func(n *node) { n.fail["commit"] = errors.New("odd") }, reason: api.ReasonRuntimeFailed, words: "odd"},
		"registry": {
			change: func(n *node) { n.fail["push"] = because(api.ReasonRegistryFailed) },
			config: withHub, reason: api.ReasonRegistryFailed,
		},
		"no runtime": {config: func(c *Config) { c.Containers, c.Images = nil, nil }, reason: api.ReasonNotSupported, words: "socket"},
		"not recovered": {config: func(c *Config) {
			c.Recover = func(context.Context) error { return errors.New("frozen solid") }
		}, reason: api.ReasonRuntimeFailed, words: "frozen solid"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, one.config, snapshot(nil))
			if one.change != nil {
				one.change(r.node)
			}
			r.reconcile(t.Context(), "w-1")
			r.wantFailed(one.reason, one.words)
			r.wantHeld()
			if name == "too large" && slices.ContainsFunc(r.node.made(), func(c string) bool { return strings.HasPrefix(c, "commit") }) {
				t.Error("it was written before it was found too large")
			}
		})
	}
}

func TestASnapshotOfAnotherNodeIsLeftAlone(t *testing.T) {
	r := newRig(t, nil, snapshot(func(w *api.WorkspaceSnapshot) { w.Spec.Node = "n2" }))
	r.reconcile(t.Context(), "w-1")
	r.wantCalls()
	if s := r.get("w-1").Status; s.Phase != "" {
		t.Errorf("status %+v", s)
	}
}

func TestWhatAnEarlierAgentBeganIsInterrupted(t *testing.T) {
	r := newRig(t, nil, snapshot(func(w *api.WorkspaceSnapshot) { w.Status.Phase = api.SnapshotSaving }))
	r.node.images[image] = true
	r.reconcile(t.Context(), "w-1")
	r.wantFailed(api.ReasonInterrupted, "n1 ended meanwhile")
	r.wantHeld()
}

func TestAnAgentThatEndsSaysSo(t *testing.T) {
	r := newRig(t, nil, snapshot(nil))
	ctx, cancel := context.WithCancel(t.Context())
	r.node.entered["commit"] = func(string) { cancel() }
	r.reconcile(ctx, "w-1")
	r.wantFailed(api.ReasonInterrupted, "n1 ended meanwhile")
	r.wantHeld()
}

func TestTheWordOfAnotherStandsAndTheImageGoes(t *testing.T) {
	for name, other := range map[string]func(*rig){
		"failed": func(r *rig) {
			w := r.get("w-1")
			w.Status.Phase, w.Status.Reason = api.SnapshotFailed, api.ReasonNodeLost
			if err := r.c.Status().Update(r.t.Context(), w); err != nil {
				r.t.Error(err)
			}
		},
		"deleted": func(r *rig) {
			if err := r.c.Delete(r.t.Context(), r.get("w-1")); err != nil {
				r.t.Error(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, withHub, snapshot(nil))
			r.node.entered["push"] = func(string) { other(r) }
			r.reconcile(t.Context(), "w-1")
			r.wantHeld()
			if got := r.node.made(); got[len(got)-1] != "delete hub.example/lab/w@sha256:1" {
				t.Errorf("the registry keeps what nobody names: %v", got)
			}
			if s := r.get("w-1").Status; s.Image != "" || name == "failed" && s.Reason != api.ReasonNodeLost {
				t.Errorf("status %+v", s)
			}
		})
	}
}

func TestASaveIsNotInVainWhenTheServerIsAwayForAMoment(t *testing.T) {
	r := newRig(t, nil, snapshot(nil))
	var away int
	broken := interceptor.NewClient(r.c, interceptor.Funcs{
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
			if away > 0 {
				away--
				return errors.New("the server is away")
			}
			return c.SubResource(sub).Patch(ctx, o, p, opts...)
		},
	})
	r.saver.client = broken
	r.node.entered["exec"] = func(string) { away = 1 }   // a step is not seen
	r.node.entered["commit"] = func(string) { away = 2 } // the end is written later
	r.reconcile(t.Context(), "w-1")
	if s := r.get("w-1").Status; s.Phase != api.SnapshotSaved || s.Image != image {
		t.Errorf("status %+v", s)
	}
	r.wantHeld(image)
}

func TestADeletedSnapshotTakesItsImageAlong(t *testing.T) {
	for name, one := range map[string]struct {
		status api.WorkspaceSnapshotStatus
		fail   error
		want   []string
	}{
		"on the node": {api.WorkspaceSnapshotStatus{Phase: api.SnapshotSaved, Image: image, OnNode: true}, nil, []string{"remove " + image}},
		"in registry": {api.WorkspaceSnapshotStatus{Phase: api.SnapshotSaved, Image: "hub.example/x@sha256:1"}, nil, []string{"remove " + image, "delete hub.example/x@sha256:1"}},
		"undeletable": {api.WorkspaceSnapshotStatus{Phase: api.SnapshotSaved, Image: "hub.example/x@sha256:1"}, errors.New("405"), []string{"remove " + image, "delete hub.example/x@sha256:1"}},
		"never begun": {api.WorkspaceSnapshotStatus{}, nil, []string{"remove " + image}},
		"half a save": {api.WorkspaceSnapshotStatus{Phase: api.SnapshotSaving}, nil, []string{"remove " + image}},
		"it did fail": {api.WorkspaceSnapshotStatus{Phase: api.SnapshotFailed}, nil, []string{"remove " + image}},
	} {
		t.Run(name, func(t *testing.T) {
			deleted := metav1.NewTime(start)
			r := newRig(t, withHub, snapshot(func(w *api.WorkspaceSnapshot) { w.DeletionTimestamp, w.Status = &deleted, one.status }))
			r.node.fail["delete"] = one.fail
			r.reconcile(t.Context(), "w-1")
			r.wantCalls(one.want...)
			if err := r.c.Get(t.Context(), client.ObjectKey{Namespace: "lab", Name: "w-1"}, &api.WorkspaceSnapshot{}); client.IgnoreNotFound(err) != nil || err == nil {
				t.Errorf("the snapshot is still there: %v", err)
			}
		})
	}
}

func TestASnapshotStaysUntilItsImageIsGone(t *testing.T) {
	deleted := metav1.NewTime(start)
	r := newRig(t, nil, snapshot(func(w *api.WorkspaceSnapshot) { w.DeletionTimestamp = &deleted }))
	r.node.fail["remove"] = errors.New("the runtime is away")
	if _, err := r.saver.Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKey{Namespace: "lab", Name: "w-1"}}); err == nil {
		t.Error("it is not tried again")
	}
	r.get("w-1")
}

func TestAContainerIsSavedOnceAtATimeAndTwoAreAtOnce(t *testing.T) {
	named := func(name, podUID string) *api.WorkspaceSnapshot {
		return snapshot(func(w *api.WorkspaceSnapshot) { w.Name, w.Spec.PodUID, w.UID = name, podUID, "" })
	}
	gone := named("gone", "p9")
	deleted := metav1.NewTime(start)
	gone.DeletionTimestamp = &deleted
	r := newRig(t, nil, named("a", "p1"), named("a-again", "p1"), named("b", "p2"), named("c", "p3"), gone)
	var inside sync.WaitGroup
	inside.Add(2)
	hold := make(chan struct{})
	r.node.entered["exec"] = func(string) { inside.Done(); <-hold }
	var saving sync.WaitGroup
	saving.Go(func() { r.reconcile(t.Context(), "a") })
	for len(r.node.made()) == 0 { // so that a again comes second
		time.Sleep(time.Millisecond)
	}
	if got := r.reconcile(t.Context(), "a-again"); got.RequeueAfter == 0 {
		t.Error("one container is saved twice at once")
	}
	saving.Go(func() { r.reconcile(t.Context(), "b") })
	inside.Wait()
	if got := r.reconcile(t.Context(), "c"); got.RequeueAfter == 0 {
		t.Error("a third is saved at the same time")
	}
	r.reconcile(t.Context(), "gone") // a deletion does not wait
	if r.c.Get(t.Context(), client.ObjectKeyFromObject(gone), &api.WorkspaceSnapshot{}) == nil {
		t.Error("a deletion waits for saves")
	}
	close(hold)
	saving.Wait()
	inside.Add(2)
	r.reconcile(t.Context(), "a-again")
	r.reconcile(t.Context(), "c")
	for _, name := range []string{"a", "a-again", "b", "c"} {
		if s := r.get(name).Status; s.Phase != api.SnapshotSaved {
			t.Errorf("%s: %+v", name, s)
		}
	}
}

func TestImagesThatNobodyNeedsGoAfterADay(t *testing.T) {
	r := newRig(t, nil,
		snapshot(func(w *api.WorkspaceSnapshot) {
			w.Status = api.WorkspaceSnapshotStatus{Phase: api.SnapshotSaved, OnNode: true}
		}),
		snapshot(func(w *api.WorkspaceSnapshot) { w.Name, w.Status.Phase = "w-2", api.SnapshotSaving }),
		snapshot(func(w *api.WorkspaceSnapshot) { w.Name, w.Status.Phase = "w-3", api.SnapshotFailed }),
		snapshot(func(w *api.WorkspaceSnapshot) { w.Name, w.Status.Phase = "w-4", api.SnapshotSaved }),
		snapshot(func(w *api.WorkspaceSnapshot) { w.Name, w.Spec.Node = "w-5", "n2" }))
	for i := range 6 {
		r.node.images[fmt.Sprintf("aipub.io/workspaces/lab/w:w-%d", i+1)] = true
	}
	all := r.node.held()
	for _, after := range []time.Duration{0, time.Hour, orphanAge - time.Second} {
		r.now = start.Add(after)
		if err := r.saver.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		r.wantHeld(all...)
	}
	r.now = start.Add(orphanAge)
	if err := r.saver.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.wantHeld(all[0], all[1])
}

func TestWhatAnEarlierAgentLeftIsLetGoOfBeforeAnythingIsSaved(t *testing.T) {
	var order []string
	r := newRig(t, func(c *Config) {
		c.Recover = func(context.Context) error { order = append(order, "recover"); return nil }
	}, snapshot(nil), snapshot(func(w *api.WorkspaceSnapshot) { w.Name, w.UID = "w-2", "u2" }))
	r.node.entered["find"] = func(call string) { order = append(order, call) }
	r.reconcile(t.Context(), "w-1")
	r.reconcile(t.Context(), "w-2")
	if diff := cmp.Diff([]string{"recover", "find", "find"}, order); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
}
