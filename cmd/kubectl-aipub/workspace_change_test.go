// SPDX-License-Identifier: Apache-2.0

package main

import (
	"net/http"
	"strings"
	"testing"

	api "aipub.io/aipub/api/v1alpha1"
)

const labWorkspaces = "/apis/aipub.io/v1alpha1/namespaces/lab/workspaces"

func TestPauseShowsHowItGetsThere(t *testing.T) {
	s := serveLab(t, workingLab(t))
	s.meanwhile = func(wait int) {
		s.become("lab", "kim", func(w *api.Workspace) {
			switch wait {
			case 1, 2:
				w.Status.Phase, w.Status.Reason, w.Status.Message = api.PhaseSaving, "Saving", "node gpu-01 saves its work: Commit (WorkspaceSnapshot kim-2-1)"
			case 3:
				w.Status.Phase, w.Status.Reason, w.Status.Message = api.PhaseRunning, api.ReasonSaveFailed, "its work could not be saved; it is tried again at 09:31:00 UTC"
			default:
				w.Status.Phase, w.Status.Reason, w.Status.Message = api.PhasePaused, api.ReasonRequested, "its set is free, as was asked for"
			}
		})
	}
	golden(t, "workspace-pause-wait", s.run("workspace pause kim -n lab --wait"))
	s.wantWrites(`PATCH ` + labWorkspaces + `/kim {"spec":{"paused":true}}`)
}

func TestPauseAndResumeOfOtherKinds(t *testing.T) {
	s := serveLab(t, workingLab(t))
	s.meanwhile = func(wait int) {
		paused := `{"at":"2026-03-02T09:30:00Z","reason":"Requested","by":"ann"}`
		if wait > 2 { // its pods have ended
			paused = `{"at":"2026-03-02T09:30:00Z","reason":"Requested","by":"ann","freedAt":"2026-03-02T09:31:00Z"}`
		}
		s.annotate("lab", "deployments", "editor", map[string]string{api.PauseAnnotation: "", api.PausedAnnotation: paused})
	}
	got := s.run("workspace pause deploy/editor -n lab --wait")
	wantAll(t, got, "deployment lab/editor is being paused; its volumes are kept\n", "deployment lab/editor: Pausing\n", "deployment lab/editor: Paused\n")
	s.wantWrites(`PATCH /apis/apps/v1/namespaces/lab/deployments/editor {"metadata":{"annotations":{"aipub.io/pause":"true"}}}`)
	wantAll(t, s.run("workspace pause deploy/editor -n lab"), "deployment lab/editor is paused already, since 2026-03-02 09:30Z: Requested (ann)\n")
	s.wantWrites()

	s.meanwhile = func(int) {
		s.annotate("lab", "deployments", "editor", map[string]string{api.PauseAnnotation: "", api.PausedAnnotation: ""})
	}
	got = s.run("workspace resume deploy/editor -n lab --wait")
	wantAll(t, got, "deployment lab/editor starts again\n", "deployment lab/editor: Running\n")
	if strings.Contains(got, "Paused") {
		t.Errorf("what was before the resume is no phase of it:\n%s", got)
	}
	s.wantWrites(`PATCH /apis/apps/v1/namespaces/lab/deployments/editor {"metadata":{"annotations":{"aipub.io/pause":"false"}}}`)

	wantAll(t, s.run("workspace pause notebook/notes lab/workspace/lee -n lab"), "notebook lab/notes is being paused",
		"workspace lab/lee is paused already, since 2026-03-01 03:30Z: Idle (nights)\n")
	wantAll(t, s.run("workspace resume notebook/notes --from-image -n lab"), "only of Workspaces file systems are saved", "exit status 1")
}

// TestWhatOthersStoppedIsNotResumed: a Deployment that somebody scaled to nothing is
// not paused, and is left to whoever did it.
func TestWhatOthersStoppedIsNotResumed(t *testing.T) {
	l := workingLab(t)
	none := int32(0)
	l.deployment("lab", "old", "ann", "small", api.TypeWorkspace).Spec.Replicas = &none
	s := serveLab(t, l)
	wantAll(t, s.run("workspace resume deployment/old -n lab"), "has 0 replicas, and not because it was paused; start it with kubectl scale deployment/old -n lab --replicas=1", "exit status 1")
	wantAll(t, s.run("workspace pause deployment/old -n lab"), "deployment lab/old holds nothing: somebody has stopped it\n")
	s.wantWrites()
}

func TestResumeSaysWhatItStartsFrom(t *testing.T) {
	s := serveLab(t, workingLab(t))
	s.become("lab", "lee", func(w *api.Workspace) {
		w.Status.Saved = &api.SavedState{Snapshot: "lee-2-1", Image: "saved", BaseImage: w.Spec.Image, At: *hoursAgo(30)}
	})
	wantAll(t, s.run("workspace resume lee -n lab --dry-run=server"), "workspace lab/lee starts again, with the file system that was saved at 2026-03-01 03:30Z (server dry run: nothing was changed)\n")
	wantAll(t, s.run("workspace resume lee -n lab --from-image"), "workspace lab/lee starts again, from image jupyter/pytorch-notebook and not from what was saved at 2026-03-01 03:30Z\n")
	s.wantWrites(`PATCH `+labWorkspaces+`/lee {"spec":{"paused":false}}`,
		`PATCH `+labWorkspaces+`/lee {"metadata":{"annotations":{"aipub.io/from-image":"lee-2-1"}},"spec":{"paused":false}}`)

	wantAll(t, s.run("workspace resume kim -n lab"), "workspace lab/kim is not paused: Running on node gpu-01\n")
	wantAll(t, s.run("workspace resume kim -n lab --from-image"), "workspace lab/kim is not paused (Running), so it starts from nothing now; pause it first", "exit status 1")
	s.wantWrites()
}

// TestAPauseIsCalledOff: what is not paused yet goes on as it is.
func TestAPauseIsCalledOff(t *testing.T) {
	s := serveLab(t, workingLab(t))
	wantAll(t, s.run("workspace resume big -n vision --from-image"), "workspace vision/big is not paused (Running), so it starts from nothing now; pause it first", "exit status 1")
	wantAll(t, s.run("workspace resume big -n vision"), "workspace vision/big goes on: its pause is called off\n")
	wantAll(t, s.run("workspace pause notebook/notes -n lab"), "notebook lab/notes is being paused; its volumes are kept\n")
	wantAll(t, s.run("workspace pause notebook/notes -n lab"), "notebook lab/notes is being paused already\n")
	wantAll(t, s.run("workspace resume notebook/notes -n lab"), "notebook lab/notes goes on: its pause is called off\n")
	s.wantWrites(`PATCH /apis/aipub.io/v1alpha1/namespaces/vision/workspaces/big {"spec":{"paused":false}}`,
		`PATCH /apis/kubeflow.org/v1/namespaces/lab/notebooks/notes {"metadata":{"annotations":{"aipub.io/pause":"true"}}}`,
		`PATCH /apis/kubeflow.org/v1/namespaces/lab/notebooks/notes {"metadata":{"annotations":{"aipub.io/pause":"false"}}}`)
}

// TestAllAreAskedBeforeAnyIsWaitedFor: a pause that takes long holds up no other, and
// one that cannot be found neither.
func TestAllAreAskedBeforeAnyIsWaitedFor(t *testing.T) {
	s := serveLab(t, workingLab(t))
	s.meanwhile = func(int) {
		if len(s.writes) != 2 {
			t.Errorf("waiting after %d writes", len(s.writes))
		}
		for _, name := range []string{"kim", "ann"} {
			s.become("lab", name, func(w *api.Workspace) { w.Status.Phase, w.Status.Reason = api.PhasePaused, api.ReasonRequested })
		}
	}
	wantAll(t, s.run("workspace pause kim nobody ann -n lab --wait"), "workspace lab/kim: Paused: Requested\n", "workspace lab/ann: Paused: Requested",
		`error: there is no workspace "nobody" in namespace lab`, "exit status 1")
}

// TestALostFileSystemIsLeftBehind: one that failed because what was saved is gone is
// not paused, and starts from its image when asked to.
func TestALostFileSystemIsLeftBehind(t *testing.T) {
	s := serveLab(t, workingLab(t))
	s.become("lab", "kim", func(w *api.Workspace) { w.Status.Phase, w.Status.Reason = api.PhaseFailed, api.ReasonSavedStateGone })
	wantAll(t, s.run("workspace resume kim -n lab --from-image"), "starts again, from image jupyter/pytorch-notebook and not from what was saved")
	s.wantWrites(`PATCH ` + labWorkspaces + `/kim {"metadata":{"annotations":{"aipub.io/from-image":"kim-3-1"}},"spec":{"paused":false}}`)
}

func TestCtrlCLeavesItBe(t *testing.T) {
	s := serveLab(t, workingLab(t))
	s.meanwhile = func(wait int) {
		if wait == 1 {
			s.become("lab", "lee", func(w *api.Workspace) {
				w.Status.Phase, w.Status.Reason, w.Status.Message = api.PhaseQueued, api.ReasonProjectQuotaReached, "project lab has 2 of 2 sets small in use: kim 1, ann 1"
			})
		}
	}
	golden(t, "workspace-resume-interrupted", s.run("workspace resume lee -n lab --wait"))
}

func TestWaitingEndsWhenItCannotCome(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*labServer)
		want   string
	}{
		"paused": {func(s *labServer) { s.become("lab", "lee", func(w *api.Workspace) { w.Spec.Paused = true }) }, "workspace lab/lee was paused meanwhile"},
		"failed": {func(s *labServer) {
			s.become("lab", "lee", func(w *api.Workspace) { w.Status.Phase = api.PhaseFailed })
		}, "workspace lab/lee does not run; see kubectl aipub workspace logs lee -n lab"},
		"deleted": {func(s *labServer) { delete(s.objects, labWorkspaces+"/lee") }, "workspace lab/lee was deleted meanwhile"},
	} {
		t.Run(name, func(t *testing.T) {
			s := serveLab(t, workingLab(t))
			s.meanwhile = func(int) { tc.change(s) }
			wantAll(t, s.run("workspace resume lee -n lab --wait"), "error: "+tc.want, "exit status 1")
		})
	}
	s := serveLab(t, workingLab(t))
	s.meanwhile = func(int) { s.become("lab", "kim", func(w *api.Workspace) { w.Spec.Paused = false }) }
	wantAll(t, s.run("workspace pause kim -n lab --wait"), "error: workspace lab/kim was resumed meanwhile", "exit status 1")
}

func TestExtendAddsToWhatWasAdded(t *testing.T) {
	s := serveLab(t, workingLab(t))
	wantAll(t, s.run("workspace extend kim -n lab --for 3h30m --dry-run=server"),
		"workspace lab/kim: until 2026-03-02 16:00Z -> 2026-03-02 19:30Z, OccupancyLimit (day); 7h30m added in all, of 8h that its user may add (day) (server dry run: nothing was changed)\n")
	wantAll(t, s.run("workspace extend kim -n lab --for 4h"), "-> 2026-03-02 20:00Z", "8h added in all")
	s.wantWrites(`PATCH `+labWorkspaces+`/kim {"metadata":{"annotations":{"aipub.io/extend":"7h30m"},"resourceVersion":"7"}}`,
		`PATCH `+labWorkspaces+`/kim {"metadata":{"annotations":{"aipub.io/extend":"8h"},"resourceVersion":"7"}}`)
	// What is idle is kept from now on.
	s.become("lab", "kim", func(w *api.Workspace) {
		w.Status.Occupancy.Reason, w.Status.Occupancy.Policy, w.Status.Occupancy.ExpiresAt = api.ReasonIdle, "nights", inHours(0.5)
	})
	wantAll(t, s.run("workspace extend kim -n lab --for 2h"), "until 2026-03-02 10:00Z -> 2026-03-02 11:30Z, Idle (nights); 10h added in all")
	wantAll(t, s.run("workspace extend notebook/notes -n lab --for 90m"), "notebook lab/notes: 1h30m added; it was not due to be paused yet; 1h30m added in all")
}

func TestExtendCountsFromTheLimitAndNotFromTheEndOfQuietHours(t *testing.T) {
	l := workingLab(t)
	l.policy("siesta", api.ReclaimPolicySpec{Scope: api.ReclaimScope{Project: "lab"}, MaxOccupancyHours: 23, MaxExtensionHours: 24,
		QuietHours: []api.QuietHours{{From: "14:00", To: "16:00"}, {From: "17:30", To: "18:00"}}})
	s := serveLab(t, l)
	wantAll(t, s.run("workspace extend kim -n lab --for 30m --dry-run=server"), "until 2026-03-02 16:00Z -> 2026-03-02 16:00Z,")
	wantAll(t, s.run("workspace extend kim -n lab --for 2h --dry-run=server"), "until 2026-03-02 16:00Z -> 2026-03-02 17:00Z,")
	wantAll(t, s.run("workspace extend kim -n lab --for 3h --dry-run=server"), "until 2026-03-02 16:00Z -> 2026-03-02 18:00Z,")
}

// TestNoExtensionIsLost has two persons extend at once: both count.
func TestNoExtensionIsLost(t *testing.T) {
	s := serveLab(t, workingLab(t))
	s.refuse = func(string) (int, string) {
		if len(s.writes) == 1 {
			u := s.get("lab", "workspaces", "kim")
			notes := u.GetAnnotations()
			notes[api.ExtendAnnotation] = "6h"
			u.SetAnnotations(notes)
			u.SetResourceVersion("8")
		}
		return 0, ""
	}
	wantAll(t, s.run("workspace extend kim -n lab --for 1h"), "7h added in all")
	if got := s.get("lab", "workspaces", "kim").GetAnnotations()[api.ExtendAnnotation]; got != "7h" || len(s.writes) != 2 {
		t.Errorf("it has %s after %d writes", got, len(s.writes))
	}
}

func TestExtendRefuses(t *testing.T) {
	for args, want := range map[string]string{
		"workspace extend kim -n lab":                  "error: --for 0s: give how much time is added, at least 1m, such as 8h or 90m\n",
		"workspace extend kim -n lab --for -1h":        "error: --for -1h0m0s: give how much time is added",
		"workspace extend lee -n lab --for 1h":         "error: workspace lab/lee is paused, and its clock starts anew when it is resumed; nothing was changed\n",
		"workspace extend kim -n lab --for 99999h":     "error: workspace lab/kim has 4h added already, and 99999h more is beyond what can be added in all, 99999h\n",
		"workspace extend kim lee --for 1h":            "error: 2 names are given; kubectl aipub workspace extend takes one, as kubectl aipub workspace list shows it\n",
		"workspace extend kim --for 1h --dry-run=on":   "error: --dry-run on: give server or none\n",
		"workspace extend deployment/serve --for 1h":   "error: there is no deployment \"serve\" in namespace default",
		"workspace extend kim -n lab --for yesterday ": "error: invalid argument \"yesterday\" for \"--for\" flag",
	} {
		s := serveLab(t, workingLab(t))
		wantAll(t, s.run(args), want, "exit status 1")
		s.wantWrites()
	}
	l := &lab{}
	l.workspace("lab", "free", "kim", "small", api.WorkspaceStatus{Phase: api.PhaseRunning})
	s := serveLab(t, l)
	wantAll(t, s.run("workspace extend free -n lab --for 1h"), "workspace lab/free may hold its set for as long as it wants: no ReclaimPolicy limits it; nothing was changed\n")
	s.wantWrites()
	l = workingLab(t)
	l.workspace("lab", "back", "lee", "small", api.WorkspaceStatus{Phase: api.PhasePaused, Pause: &api.Pause{FreedAt: hoursAgo(1)}}).Spec.Paused = false
	s = serveLab(t, l) // resumed a moment ago
	wantAll(t, s.run("workspace extend back -n lab --for 1h"), "error: workspace lab/back is paused, and its clock starts anew when it is resumed", "exit status 1")
	s.wantWrites()
}

func TestRefusalsArePassedOn(t *testing.T) {
	s := serveLab(t, workingLab(t))
	s.refuse = func(string) (int, string) {
		return http.StatusForbidden, `admission webhook "workloads.aipub.io" denied the request: ` +
			`metadata.annotations[aipub.io/extend]: 12h is more than 8h, which ReclaimPolicy day allows; ask an administrator`
	}
	wantAll(t, s.run("workspace extend kim -n lab --for 8h"),
		"error: workspace lab/kim was not extended: metadata.annotations[aipub.io/extend]: 12h is more than 8h, which ReclaimPolicy day allows; ask an administrator\n", "exit status 1")
	wantAll(t, s.run("workspace pause kim editor -n lab"), "error: workspace lab/kim was not paused: ", "did you mean \"deployment/editor\"?", "exit status 1")

	s.refuse = func(string) (int, string) {
		return http.StatusForbidden, `workspaces.aipub.io "kim" is forbidden: User "lee" cannot patch resource "workspaces" in API group "aipub.io" in the namespace "lab"`
	}
	wantAll(t, s.run("workspace pause kim -n lab"),
		"error: you are not allowed to patch on workspaces.aipub.io in namespace lab: ask an administrator for that verb, or check with kubectl auth can-i patch workspaces.aipub.io -n lab\n")
}
