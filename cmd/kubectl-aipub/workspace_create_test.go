// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	api "aipub.io/aipub/api/v1alpha1"
)

func TestWorkspaceCreateScreens(t *testing.T) {
	for name, args := range map[string]string{
		"workspace-create-yaml": "workspace create new -n lab --set aipub.io/set-small --count 2 --image jupyter/pytorch-notebook --command start.sh --command jupyter --env A=1 --env B=x=y" +
			" --port notebook=8888 --port 6006 --home 50Gi:fast --home-path /home/jovyan --volume data:/data:ro --volume data:/more --volume my.claim:/mine" +
			" --shm 8Gi --save commit --fs-group 100 --user-id 0 --dry-run=client -o yaml -- lab --no-browser",
		"workspace-create-client": "workspace create new -n lab --set small --image a/b --dry-run=client",
		"workspace-create-wrong":  "workspace create new -n lab --count 0 --env A --port 0x1 --home 50GB! --volume data --shm -1Gi --save all --fs-group -2",
		"workspace-create-names":  "workspace create new old --set small --image a/b -- serve",
	} {
		t.Run(name, func(t *testing.T) {
			// No server: a client dry run needs none.
			t.Setenv("KUBECONFIG", "none")
			golden(t, name, terminal(t, nil, strings.Fields(args)...))
		})
	}
}

func TestCreateSaysWhatItMadeAndWhyItWaits(t *testing.T) {
	s := serveLab(t, workingLab(t))
	s.meanwhile = func(wait int) {
		s.become("lab", "new", func(w *api.Workspace) {
			w.Status.Phase, w.Status.Reason, w.Status.Message = api.PhaseRunning, "", ""
			switch wait {
			case 1:
				w.Status.ObservedGeneration = 0 // of a Workspace that had the name before
			case 2, 3:
				w.Status.Phase, w.Status.Reason, w.Status.Message = api.PhaseQueued, api.ReasonNoRoomOnNodes, "no node has a set small free"
			case 4:
				w.Status.Phase, w.Status.Reason, w.Status.Message = api.PhaseStarting, "ContainerCreating", ""
			default:
				w.Status.Node = "gpu-01"
			}
		})
	}
	golden(t, "workspace-create-wait", s.run("workspace create new -n lab --set small --image jupyter/pytorch-notebook --port 8888 --home 50Gi --wait"))
	if len(s.writes) != 1 || !strings.HasPrefix(s.writes[0], "POST "+labWorkspaces+" ") {
		t.Errorf("written: %v", s.writes)
	}
}

func TestCreateSaysWhatAPolicyKeeps(t *testing.T) {
	l := workingLab(t)
	l.policy("everyone", api.ReclaimPolicySpec{Scope: api.ReclaimScope{Everyone: true}, Save: api.SaveCommit})
	create := "workspace create new -n lab --set small --image a/b --home 1Gi --dry-run="
	wantAll(t, serveLab(t, l).run(create+"server"), "A pause keeps:  its volumes, its file system (everyone)\n")
	wantAll(t, serveLab(t, l).run(create+"client"), "A pause keeps:  its volumes; its file system only where a ReclaimPolicy says so\n")
}

func TestCreateOnTheServerOnly(t *testing.T) {
	s := serveLab(t, workingLab(t))
	wantAll(t, s.run("workspace create new -n lab --set small --image a/b --dry-run=server --wait"), "workspace lab/new created (server dry run: nothing was changed)\n")
	if s.objects[labWorkspaces+"/new"] != nil {
		t.Error("a dry run made it")
	}
	wantAll(t, s.run("workspace create new -n lab --set small --image a/b -o name"), "workspace.aipub.io/new\n")
	s.refuse = func(string) (int, string) {
		return http.StatusForbidden, `admission webhook "workloads.aipub.io" denied the request: spec.set: user kim has 1 of 1 sets small in use`
	}
	wantAll(t, s.run("workspace create more -n lab --set small --image a/b"), "error: workspace lab/more was not created: spec.set: user kim has 1 of 1 sets small in use\n", "exit status 1")
}

func TestLogsAreThoseOfItsContainer(t *testing.T) {
	s := serveLab(t, workingLab(t))
	s.logs = func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		_, _ = fmt.Fprintln(w, r.URL)
	}
	wantAll(t, s.run("workspace logs kim -n lab --tail 5 -p"), "/api/v1/namespaces/lab/pods/kim-0/log?container=workspace&follow=false&previous=true&tailLines=5\n")
	wantAll(t, s.run("workspace logs kim -n lab -f"), "/log?container=workspace&follow=true&previous=false\n")
	wantAll(t, s.run("workspace logs deployment/editor -n lab"), "use kubectl logs deployment/editor -n lab", "exit status 1")
	wantAll(t, s.run("workspace logs kim -n lab --tail=-5"), "error: --tail -5: give a number of lines, or -1 for all\n")

	s.logs = func(w http.ResponseWriter, _ *http.Request) { fail(w, http.StatusNotFound, "pods not found") }
	wantAll(t, s.run("workspace logs lee -n lab"), "error: workspace lab/lee is paused, so it has no container; start it again: kubectl aipub workspace resume lee -n lab\n")
	wantAll(t, s.run("workspace logs ann -n lab"), "error: workspace lab/ann has no container yet: Queued: ProjectQuotaReached: ")
	s.logs = func(w http.ResponseWriter, _ *http.Request) { fail(w, http.StatusForbidden, "no") }
	wantAll(t, s.run("workspace logs kim -n lab"), "error: you are not allowed to get on pods/log in namespace lab: ")
}
