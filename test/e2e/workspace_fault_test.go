//go:build e2e

// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "aipub.io/aipub/api/v1alpha1"
)

// untilTerm works until it is told to end.
const untilTerm = "trap 'exit 0' TERM; while :; do sleep 1; done"

// hooked has a Workspace run a hook of some seconds before each pause, which says in its
// home that it ran.
func hooked(t *testing.T, name string, seconds int) {
	t.Helper()
	mustKubectl(t, "-n", project, "patch", "workspace", name, "--type=merge", "-p", fmt.Sprintf(
		`{"spec":{"beforePause":{"command":["/bin/sh","-c","sleep %d; echo ran >>/work/hooks"],"timeoutSeconds":120}}}`, seconds))
}

// killController ends the controller's process at once. The pod goes with it: the kubelet
// would wait longer before each restart of its container.
func killController(t *testing.T) {
	t.Helper()
	killed(t, "aipub-controller", "")
	mustKubectl(t, "-n", "aipub-system", "delete", "pod", "-l", "app.kubernetes.io/component=controller", "--force", "--grace-period=0")
}

// pausing is what is seen of a pause: the Workspace, its pod and the snapshot under way.
type pausing struct {
	workspace *api.Workspace
	pod       *corev1.Pod // nil when it is gone
	snapshot  *api.WorkspaceSnapshot
}

func seePausing(ctx context.Context, name string) (s pausing, err error) {
	if s.workspace, err = workspaceIs(ctx, name); err != nil {
		return s, err
	}
	pod := &corev1.Pod{}
	err = shared.Get(ctx, client.ObjectKey{Namespace: project, Name: name + "-0"}, pod)
	if err == nil {
		s.pod = pod
	}
	if pause := s.workspace.Status.Pause; pause != nil && pause.Snapshot != "" && client.IgnoreNotFound(err) == nil {
		s.snapshot = &api.WorkspaceSnapshot{}
		err = shared.Get(ctx, client.ObjectKey{Namespace: project, Name: pause.Snapshot}, s.snapshot)
	}
	return s, client.IgnoreNotFound(err)
}

func atStep(step string) func(pausing) bool {
	return func(s pausing) bool { return s.snapshot != nil && s.snapshot.Status.Step == step }
}

// TestAPauseOutlivesWhoCarriesItOut kills the controller and the agent at each step of a
// pause. Each time the Workspace ends up paused, once, after its work was saved, and
// comes back with all of it.
func TestAPauseOutlivesWhoCarriesItOut(t *testing.T) {
	disk(t, "fault-disk")
	workspaceNamed(t, "lab", untilTerm, "--save", "commit", "--home", "1Gi:fault-disk", "--home-path", "/work")
	hooked(t, "lab", 3)
	for round, at := range []struct {
		name string
		seen func(pausing) bool
		kill func(*testing.T)
	}{
		{"the controller, as it is asked", func(s pausing) bool { return s.workspace.Spec.Paused }, killController},
		{"the controller, while the hook runs", atStep("Hook"), killController},
		{"the controller, while it is committed", atStep("Commit"), killController},
		{"the controller, as its pod ends", func(s pausing) bool { return s.pod != nil && s.pod.DeletionTimestamp != nil }, killController},
		{"the controller, as it is paused", func(s pausing) bool { return s.pod == nil }, killController},
		{"the agent, while the hook runs", atStep("Hook"), killAgent},
		{"the agent, while it is committed", atStep("Commit"), killAgent},
	} {
		t.Run(at.name, func(t *testing.T) {
			awaitPhase(t, "lab", api.PhaseRunning, time.Minute)
			execIn(t, "lab-0", fmt.Sprintf("mkdir -p /opt; echo %d >>/opt/rounds; echo %d >>/work/rounds; head -c 40000000 /dev/urandom >/opt/large", round, round))
			before, err := workspaceIs(t.Context(), "lab")
			if err != nil {
				t.Fatal(err)
			}
			mustKubectl(t, "-n", project, "patch", "workspace", "lab", "--type=merge", "-p", `{"spec":{"paused":true}}`)
			eventually(t, time.Minute, at.name, func(ctx context.Context) error {
				s, err := seePausing(ctx, "lab")
				if err == nil && !at.seen(s) {
					err = fmt.Errorf("not seen: %+v", s.workspace.Status)
				}
				return err
			})
			at.kill(t)
			w := awaitPhase(t, "lab", api.PhasePaused, 4*time.Minute)
			saved := w.Status.Saved
			if saved == nil || before.Status.Saved != nil && saved.Snapshot == before.Status.Saved.Snapshot {
				t.Fatalf("it is paused with %+v saved, as before", saved)
			}
			if w.Status.Pause.Message != "" || w.Spec.Paused == false {
				t.Errorf("it is paused with %+v", w.Status.Pause)
			}
			mustKubectl(t, "aipub", "workspace", "resume", "-n", project, "lab", "--wait")
			var want strings.Builder
			for i := range round + 1 {
				fmt.Fprintln(&want, i)
			}
			if got := execIn(t, "lab-0", "cat /opt/rounds"); got != want.String() {
				t.Errorf("its own file system has %q, want %q", got, want.String())
			}
			if got := execIn(t, "lab-0", "cat /work/rounds"); got != want.String() {
				t.Errorf("its home has %q, want %q", got, want.String())
			}
		})
	}
	if hooks := strings.Count(execIn(t, "lab-0", "cat /work/hooks"), "ran"); hooks < 7 {
		t.Errorf("the hook ended %d times in 7 pauses", hooks)
	}
	var snapshots api.WorkspaceSnapshotList
	if err := shared.List(t.Context(), &snapshots, client.InNamespace(project)); err != nil {
		t.Fatal(err)
	}
	for _, s := range snapshots.Items {
		if s.Status.Phase == api.SnapshotSaving || s.Status.Phase == api.SnapshotPending {
			t.Errorf("snapshot %s is left %s at %s", s.Name, s.Status.Phase, s.Status.Step)
		}
	}
}

// nodeIsLost takes the node away for good while work is saved on it: its kubelet ends, and
// the Node is deleted. It comes back at the end of the test as the machine it was.
func nodeIsLost(t *testing.T) (back func()) {
	t.Helper()
	clusterCtl(t, "stop", "kubelet")
	running := true
	back = func() {
		if !running {
			return
		}
		running = false
		clusterCtl(t, "start", "kubelet")
		eventually(t, time.Minute, "the node is back", func(ctx context.Context) error {
			return shared.Get(ctx, client.ObjectKey{Name: nodeName}, &corev1.Node{})
		})
		mustKubectl(t, "label", "node", nodeName, "aipub.io/pool=demo", "--overwrite")
	}
	t.Cleanup(back)
	killed(t, "aipub-node", "--node-name="+nodeName)
	mustKubectl(t, "delete", "node", nodeName)
	return back
}

// TestANodeLostWhileSavingKeepsWhatWasSavedBefore loses the node for good in the middle of
// a save. The Workspace is told, gives up its set, and starts elsewhere or again with its
// home and what was saved before.
func TestANodeLostWhileSavingKeepsWhatWasSavedBefore(t *testing.T) {
	expectAllocatable(t, wholeNode)
	disk(t, "lost-disk")
	workspaceNamed(t, "lab", untilTerm, "--save", "commit", "--home", "1Gi:lost-disk", "--home-path", "/work")
	awaitPhase(t, "lab", api.PhaseRunning, time.Minute)
	execIn(t, "lab-0", "mkdir -p /opt; echo saved >/opt/state; echo home >/work/state")
	mustKubectl(t, "aipub", "workspace", "pause", "-n", project, "lab", "--wait")
	mustKubectl(t, "aipub", "workspace", "resume", "-n", project, "lab", "--wait")
	first := awaitPhase(t, "lab", api.PhaseRunning, time.Minute).Status.Saved
	execIn(t, "lab-0", "echo later >/opt/state; echo later >/work/state; sync")

	hooked(t, "lab", 90) // longer than the node takes to go
	mustKubectl(t, "-n", project, "patch", "workspace", "lab", "--type=merge", "-p", `{"spec":{"paused":true}}`)
	eventually(t, time.Minute, "its hook runs", func(ctx context.Context) error {
		s, err := seePausing(ctx, "lab")
		if err == nil && !atStep("Hook")(s) {
			err = errors.New("not seen")
		}
		return err
	})
	back := nodeIsLost(t)
	eventually(t, 30*time.Second, "it says that its node is lost", func(ctx context.Context) error {
		w, err := workspaceIs(ctx, "lab")
		if err == nil && (w.Status.Phase != api.PhaseSaving || w.Status.Reason != api.ReasonNodeLost) {
			err = fmt.Errorf("%s %s: %s", w.Status.Phase, w.Status.Reason, w.Status.Message)
		}
		return err
	})
	// Pods of a node that is gone are given up by the cluster after 40 s: here by hand, for
	// with all of them the cluster would give up the controller, which has no other node.
	mustKubectl(t, "-n", project, "delete", "pod", "lab-0", "--force", "--grace-period=0")
	w := awaitPhase(t, "lab", api.PhasePaused, 30*time.Second)
	t.Log(mustKubectl(t, "aipub", "workspace", "show", "-n", project, "lab"))
	if w.Status.Saved == nil || w.Status.Saved.Snapshot != first.Snapshot {
		t.Errorf("what was saved before is replaced by %+v", w.Status.Saved)
	}
	told := false
	for _, c := range w.Status.Conditions {
		told = told || c.Type == api.ConditionSaved && c.Status == metav1.ConditionFalse
	}
	if !told {
		t.Errorf("nothing says that its last work was not saved: %+v", w.Status.Conditions)
	}

	mustKubectl(t, "aipub", "workspace", "resume", "-n", project, "lab")
	eventually(t, 30*time.Second, "it says what it waits for", func(ctx context.Context) error {
		w, err := workspaceIs(ctx, "lab")
		if err == nil && (w.Status.Phase != api.PhaseFailed || w.Status.Reason != api.ReasonSavedStateGone) {
			err = fmt.Errorf("%s %s: %s", w.Status.Phase, w.Status.Reason, w.Status.Message)
		}
		return err
	})
	back()
	awaitPhase(t, "lab", api.PhaseRunning, 2*time.Minute)
	if got := execIn(t, "lab-0", "cat /opt/state /work/state"); got != "saved\nlater\n" {
		t.Errorf("it came back with %q, want what was saved before and its home", got)
	}
}
