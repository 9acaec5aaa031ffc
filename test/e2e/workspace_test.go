//go:build e2e

// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "aipub.io/aipub/api/v1alpha1"
)

// disk is a volume of this node for the home of a Workspace.
func disk(t *testing.T, name string) {
	t.Helper()
	pv := &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PersistentVolumeSpec{
			Capacity:                      corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")},
			AccessModes:                   []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			StorageClassName:              name,
			PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimRetain,
			PersistentVolumeSource: corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{
				Path: filepath.Join(t.TempDir(), "home"), Type: ptr.To(corev1.HostPathDirectoryOrCreate),
			}},
		},
	}
	if err := shared.Create(t.Context(), pv); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = shared.Delete(context.Background(), pv) })
}

// workspaceNamed makes a Workspace with the command line, and removes it at the end of
// the test.
func workspaceNamed(t *testing.T, name, script string, more ...string) {
	t.Helper()
	args := append([]string{"aipub", "workspace", "create", "-n", project, name, "--set", "small", "--image", image}, more...)
	eventually(t, 10*time.Second, name+" is made", func(context.Context) error { // quotas of an earlier test go within moments
		out, err := kubectl(append(args, "--", "/bin/sh", "-c", script)...)
		if err == nil {
			t.Log(out)
			return nil
		}
		return fmt.Errorf("%w: %s", err, out)
	})
	t.Cleanup(func() {
		mustKubectl(t, "-n", project, "delete", "workspace", name, "--wait")
		eventually(t, time.Minute, "its pod is gone", func(ctx context.Context) error {
			err := shared.Get(ctx, client.ObjectKey{Namespace: project, Name: name + "-0"}, &corev1.Pod{})
			if err == nil {
				err = fmt.Errorf("it is still there")
			}
			return client.IgnoreNotFound(err)
		})
	})
}

func workspaceIs(ctx context.Context, name string) (*api.Workspace, error) {
	w := &api.Workspace{}
	err := shared.Get(ctx, client.ObjectKey{Namespace: project, Name: name}, w)
	return w, err
}

// awaitPhase waits until a Workspace is in a phase.
func awaitPhase(t *testing.T, name string, phase api.WorkspacePhase, within time.Duration) *api.Workspace {
	t.Helper()
	var w *api.Workspace
	eventually(t, within, name+" is "+string(phase), func(ctx context.Context) error {
		var err error
		if w, err = workspaceIs(ctx, name); err != nil {
			return err
		}
		if w.Status.Phase != phase {
			return fmt.Errorf("phase %s, %s: %s", w.Status.Phase, w.Status.Reason, w.Status.Message)
		}
		return nil
	})
	return w
}

// limitedTo limits a project's Workspaces for the time of a test.
func limitedTo(t *testing.T, spec api.ReclaimPolicySpec) {
	t.Helper()
	spec.Scope = api.ReclaimScope{Project: project}
	p := &api.ReclaimPolicy{ObjectMeta: metav1.ObjectMeta{Name: "e2e"}, Spec: spec}
	if err := shared.Create(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = shared.Delete(context.Background(), p) })
}

// almostDue has a Workspace have held its set for all of its time but a few seconds.
func almostDue(t *testing.T, name string, limit, left time.Duration) {
	t.Helper()
	eventually(t, time.Minute, name+"'s clock is almost due", func(ctx context.Context) error {
		w, err := workspaceIs(ctx, name)
		if err != nil {
			return err
		}
		if w.Status.Occupancy == nil || w.Status.Occupancy.Since == nil {
			return fmt.Errorf("it has no clock")
		}
		held := time.Since(w.Status.Occupancy.Since.Time)
		w.Status.Occupancy.HeldSeconds = int64((limit - left - held) / time.Second)
		return shared.Status().Update(ctx, w)
	})
}

// TestAWorkspaceIsPausedAtItsLimitAndComesBackAsItWas is the whole life of a Workspace:
// it works, is warned, is saved and paused in the second of its limit, its set goes to
// who waits, and it comes back with its home and its own file system.
func TestAWorkspaceIsPausedAtItsLimitAndComesBackAsItWas(t *testing.T) {
	quotaOf(t, "whole", api.QuotaScope{Project: project}, map[string]int32{"small": 1})
	disk(t, "lab-disk")
	limitedTo(t, api.ReclaimPolicySpec{
		MaxOccupancyHours: 1, GraceMinutes: ptr.To(int32(0)), Save: api.SaveCommit,
		WarnBefore: []metav1.Duration{{Duration: 5 * time.Second}},
	})
	workspaceNamed(t, "lab", "trap 'exit 0' TERM; while :; do sleep 1; done", "--home", "1Gi:lab-disk", "--home-path", "/work")
	awaitPhase(t, "lab", api.PhaseRunning, time.Minute)
	execIn(t, "lab-0", "echo mine >/work/notes && mkdir -p /opt/package && echo installed >/opt/package/version && rm -f /etc/motd && echo x >/etc/changed")
	job(t, "next", "small")
	waitsFor(t, "job-name=next", api.ReasonProjectQuotaReached)

	almostDue(t, "lab", time.Hour, 15*time.Second)
	awaitTold(t, "lab", api.ReasonReclaimWarning)
	warned, err := workspaceIs(t.Context(), "lab")
	if err != nil || warned.Status.Occupancy.ExpiresAt == nil {
		t.Fatalf("%v, %+v", err, warned.Status.Occupancy)
	}
	deadline := warned.Status.Occupancy.ExpiresAt.Time
	t.Log(mustKubectl(t, "aipub", "workspace", "list", "-n", project))
	var began time.Time
	eventually(t, 30*time.Second, "it is being paused", func(ctx context.Context) error {
		w, err := workspaceIs(ctx, "lab")
		if err == nil && !w.Spec.Paused {
			err = fmt.Errorf("not yet")
		}
		began = time.Now()
		return err
	})
	if began.Before(deadline) {
		t.Errorf("it was paused %s before %s", deadline.Sub(began), deadline)
	}
	t.Logf("BENCH reclaim.late_s %.3f s (seen at most 0.1 s after)", began.Sub(deadline).Seconds())
	paused := awaitPhase(t, "lab", api.PhasePaused, 2*time.Minute)
	if paused.Status.Saved == nil || paused.Status.Pause.Reason != api.ReasonOccupancyLimit {
		t.Fatalf("it is paused with %+v saved, %+v", paused.Status.Saved, paused.Status.Pause)
	}
	t.Logf("saved %d bytes as %s", paused.Status.Saved.Bytes, paused.Status.Saved.Image)
	expectRunningJobs(t, "next") // who waited has the set

	t.Log(mustKubectl(t, "aipub", "workspace", "resume", "-n", project, "lab"))
	queued := awaitPhase(t, "lab", api.PhaseQueued, 30*time.Second)
	t.Log(queued.Status.Message)
	deleteJob(t, "next")
	again := awaitPhase(t, "lab", api.PhaseRunning, time.Minute)
	got := execIn(t, "lab-0", "cat /work/notes /opt/package/version /etc/changed; test ! -e /etc/motd && echo gone")
	if want := "mine\ninstalled\nx\ngone"; strings.TrimSpace(got) != want {
		t.Errorf("it came back with %q, want %q", got, want)
	}
	eventually(t, 30*time.Second, "its clock is new", func(ctx context.Context) error {
		w, err := workspaceIs(ctx, "lab")
		if err == nil && (w.Status.Occupancy == nil || w.Status.Occupancy.ExpiresAt == nil || time.Until(w.Status.Occupancy.ExpiresAt.Time) < 58*time.Minute) {
			err = fmt.Errorf("%+v", w.Status.Occupancy)
		}
		return err
	})
	if again.Status.Pause != nil {
		t.Errorf("it says that it is paused: %+v", again.Status.Pause)
	}
	t.Log(mustKubectl(t, "aipub", "workspace", "show", "-n", project, "lab"))
}

// connected keeps a connection into a pod open, in which nothing is said, until the pod
// ends it or the test does. The channel is closed at the end.
func connected(t *testing.T, pod string) <-chan struct{} {
	t.Helper()
	c := exec.CommandContext(t.Context(), "kubectl", "-n", project, "exec", "-i", pod, "--", "cat")
	if _, err := c.StdinPipe(); err != nil { // open, and silent
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { defer close(ended); _ = c.Wait() }()
	return ended
}

// TestWhatWorksIsNotIdleAndAnOpenConnectionIs lets two be idle for as long as the policy
// waits: one computes with nobody connected, to the other somebody is connected who does
// nothing.
func TestWhatWorksIsNotIdleAndAnOpenConnectionIs(t *testing.T) {
	limitedTo(t, api.ReclaimPolicySpec{
		Idle: &api.IdleRule{AfterMinutes: 1, Signals: []api.IdleSignal{api.IdleCPU, api.IdleTerminal}}, GraceMinutes: ptr.To(int32(0)),
	})
	workspaceNamed(t, "busy", "while :; do :; done")
	workspaceNamed(t, "open", "while :; do sleep 1; done")
	awaitPhase(t, "busy", api.PhaseRunning, time.Minute)
	awaitPhase(t, "open", api.PhaseRunning, time.Minute)
	connected := connected(t, "open-0")
	w := awaitPhase(t, "open", api.PhasePaused, 6*time.Minute)
	if w.Status.Pause.Reason != api.ReasonIdle {
		t.Errorf("it is paused for %s", w.Status.Pause.Reason)
	}
	select {
	case <-connected:
	case <-time.After(10 * time.Second):
		t.Error("the connection outlived the pause: nobody was connected to it")
	}
	busy, err := workspaceIs(t.Context(), "busy")
	if err != nil {
		t.Fatal(err)
	}
	if busy.Spec.Paused || busy.Status.Occupancy == nil || busy.Status.Occupancy.Signal != api.SignalActive {
		t.Errorf("the one that works: paused %t, %+v", busy.Spec.Paused, busy.Status.Occupancy)
	}
	t.Log(mustKubectl(t, "aipub", "workspace", "list", "-n", project))
}

// TestANamespaceWithASavedWorkspaceGoes deletes all of it at once: nothing may hold it.
func TestANamespaceWithASavedWorkspaceGoes(t *testing.T) {
	const namespace = "e2e-gone"
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace, Labels: map[string]string{api.ProjectLabel: project}}}
	if err := shared.Create(t.Context(), ns); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = shared.Delete(context.Background(), ns) })
	eventually(t, 30*time.Second, "the namespace is managed", func(context.Context) error {
		out, err := kubectl("aipub", "workspace", "create", "-n", namespace, "lab", "--set", "small", "--image", image, "--save", "commit", "--", "/bin/sh", "-c", "trap 'exit 0' TERM; while :; do sleep 1; done")
		if err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		return nil
	})
	mustKubectl(t, "-n", namespace, "wait", "workspace/lab", "--for=jsonpath={.status.phase}=Running", "--timeout=60s")
	t.Log(mustKubectl(t, "aipub", "workspace", "pause", "-n", namespace, "lab", "--wait"))
	mustKubectl(t, "delete", "namespace", namespace, "--wait", "--timeout=90s")
}
