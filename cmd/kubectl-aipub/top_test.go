// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/gpu"
	"aipub.io/aipub/sharer"
)

// averagedWorld has two shares in its NodePartitions and one that no agent has
// written about yet.
func averagedWorld(t *testing.T) *world {
	t.Helper()
	w := busyWorld(t)
	share := func(set string, nth int, h api.Holder, s *api.SliceShare) {
		w.mark("gpu-01", set, nth, func(sl *api.NodeSlice) {
			sl.State, sl.Holder, sl.Share = api.SliceState(gpu.StateHeld), &h, s
		})
	}
	train := &api.SliceShare{UsedPercent: 60, BorrowedPercent: 10, WaitingPercent: 3, Memory: resource.MustParse("21Gi"), Processes: 2}
	share("small", 1, api.Holder{Namespace: "vision", Pod: "train-0", Container: "main"}, train)
	share("small", 2, api.Holder{Namespace: "vision", Pod: "train-0", Container: "main"}, train)
	share("small", 3, api.Holder{Namespace: "lab", Pod: "hidden-0", Container: "main"}, &api.SliceShare{
		Findings: []api.Finding{{Reason: "NotAttached", PID: 7, Message: "process 7 uses GPU-1 without the limiter"}}})
	return w
}

func TestTopScreens(t *testing.T) {
	for name, tc := range map[string]struct {
		args   string
		rounds int
	}{
		"top":           {args: "top"},
		"top-wide":      {args: "top -o wide"},
		"top-json":      {args: "top -o json"},
		"top-namespace": {args: "top -n lab"},
		"top-waiting":   {args: "top --sort waiting gpu-01"},
		"top-live":      {args: "top", rounds: 2},
		"top-none":      {args: "top -n web"},
		"top-silent":    {args: "top gpu-02 gpu-03"},
		"top-unknown":   {args: "top gpu-011"},
	} {
		t.Run(name, func(t *testing.T) {
			url := server(t, sharedCluster())
			got := watched(t, url, tc.rounds, strings.Fields(tc.args)...)
			got = strings.ReplaceAll(strings.ReplaceAll(got, url, "URL"), "\x1b", "^[")
			golden(t, name, got)
		})
	}
}

func TestTopFallsBackToAverages(t *testing.T) {
	w := averagedWorld(t)
	before, after := twoRounds()
	live := agents(map[string]any{"gpu-01": inTurn(before, after)})
	written := map[string]any{partitionsPath: w.partitions}
	usual := "/api/v1/namespaces/aipub-system/pods"
	for name, tc := range map[string]struct {
		answers map[string]any
		want    string
		average bool
	}{
		"may not list pods": {
			answers: with(written, map[string]any{podsPath: http.StatusForbidden, usual: http.StatusForbidden}), average: true,
			want: "note: you are not allowed to list pods in namespace aipub-system, so what follows is the agents' average over the last minute, from NodePartitions; ask an administrator for it, or check with kubectl auth can-i list pods -n aipub-system\n",
		},
		"may not get pods/proxy": {
			answers: with(live, with(written, map[string]any{proxyPath("gpu-01"): http.StatusForbidden})), average: true,
			want: "note: you are not allowed to get pods/proxy in namespace aipub-system, so ",
		},
		"may list pods of the usual namespace only": {
			answers: with(live, map[string]any{podsPath: http.StatusForbidden, usual: live[podsPath]}),
			want:    "vision/train-7f9c-0/main",
		},
		"may do nothing": {
			answers: map[string]any{podsPath: http.StatusForbidden, usual: http.StatusForbidden, partitionsPath: http.StatusForbidden},
			want:    "error: you are not allowed to list nodepartitions.aipub.io",
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := watched(t, server(t, tc.answers), 0, "top")
			if !strings.Contains(got, tc.want) {
				t.Errorf("want %q in:\n%s", tc.want, got)
			}
			if shown := strings.Contains(got, "vision/train-0/main"); shown != tc.average {
				t.Errorf("averages are shown: %v, want %v:\n%s", shown, tc.average, got)
			}
		})
	}
	golden(t, "top-offline", w.kubectl(t, "top"))
}

func TestTopGoesOnWithoutAnAgent(t *testing.T) {
	before, after := twoRounds()
	release := make(chan struct{})
	t.Cleanup(func() { close(release) })
	var hangs http.HandlerFunc = func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-release:
		case <-r.Context().Done():
		}
	}
	other := after
	other.Node = "gpu-09"
	for name, tc := range map[string]struct {
		answer any
		want   string
	}{
		"hangs":           {hangs, "node gpu-02 is not shown: its agent did not answer in time; its log may say why: kubectl -n aipub-system logs aipub-node-gpu-02"},
		"is gone":         {http.StatusNotFound, "node gpu-02 is not shown: its agent is gone or serves no shares"},
		"empty object":    {map[string]any{}, `is no report of this node, but of ""`},
		"of another node": {inTurn(other), `is no report of this node, but of "gpu-09"`},
		"wrong types":     {map[string]any{"node": 1}, "its answer is no report: json: "},
	} {
		t.Run(name, func(t *testing.T) {
			url := server(t, agents(map[string]any{"gpu-01": inTurn(before, after), "gpu-02": tc.answer}))
			got := watched(t, url, 0, "top", "--request-timeout", "2s")
			if !strings.Contains(got, tc.want) || !strings.Contains(got, "vision/train-7f9c-0/main") || strings.Contains(got, "exit status") {
				t.Errorf("want gpu-01 and %q in:\n%s", tc.want, got)
			}
		})
	}
}

func TestTopWhereNothingIs(t *testing.T) {
	pending := agentPod("gpu-01")
	pending.Status.Phase = corev1.PodPending
	bare := agentPod("gpu-01")
	bare.Spec.Containers[0].Ports = nil
	idle := sharer.Report{Node: "gpu-01", BootID: "boot-1"}
	for name, tc := range map[string]struct {
		answers map[string]any
		want    string
		exit    bool
	}{
		"no agents":          {map[string]any{podsPath: corev1.PodList{}}, "note: no node agent runs in this cluster", false},
		"no shares":          {agents(map[string]any{"gpu-01": inTurn(idle)}), "note: no container holds a block slice", false},
		"an agent to be":     {map[string]any{podsPath: corev1.PodList{Items: []corev1.Pod{pending}}}, "node gpu-01 is not shown: its agent is Pending", true},
		"a port is not open": {map[string]any{podsPath: corev1.PodList{Items: []corev1.Pod{bare}}}, "its agent has no port named metrics", true},
		"not logged in":      {map[string]any{podsPath: http.StatusUnauthorized}, "does not accept your credentials", true},
	} {
		t.Run(name, func(t *testing.T) {
			got := watched(t, server(t, tc.answers), 0, "top")
			if !strings.Contains(got, tc.want) || strings.Contains(got, "exit status 1") != tc.exit {
				t.Errorf("want %q and failed to be %v in:\n%s", tc.want, tc.exit, got)
			}
		})
	}
}

func TestTopKeepsTheLastTableWhenTheClusterIsLost(t *testing.T) {
	before, after := twoRounds()
	answers := agents(map[string]any{"gpu-01": inTurn(before, after)})
	rounds, pods := 0, answers[podsPath]
	var flaky http.HandlerFunc = func(w http.ResponseWriter, _ *http.Request) {
		if rounds++; rounds > 2 {
			w.WriteHeader(http.StatusTeapot)
			return
		}
		_ = json.NewEncoder(w).Encode(pods)
	}
	frames := strings.Split(watched(t, server(t, with(answers, map[string]any{podsPath: flaky})), 3, "top"), cursorHome)
	if len(frames) != 4 {
		t.Fatalf("drawn %d times, want 3:\n%q", len(frames)-1, frames)
	}
	if last := frames[3]; !strings.Contains(last, "note: this is out of date: list pods: ") || !strings.Contains(last, "vision/train-7f9c-0/main") {
		t.Errorf("the last screen is:\n%s", last)
	}
}

func TestTopFlags(t *testing.T) {
	for args, want := range map[string]string{
		"top --interval 100ms": "error: --interval 100ms: too short; it must be at least 500ms\n",
		"top --sort use":       `error: --sort use: no such order; did you mean "used"?; the orders are name, used, borrowed, waiting`,
		"top -o jsn":           "error: -o jsn: no such format",
		"top -n web -A":        "vision/train-7f9c-0/main",
	} {
		if got := watched(t, server(t, sharedCluster()), 0, strings.Fields(args)...); !strings.Contains(got, want) {
			t.Errorf("want %q in:\n%s", want, got)
		}
	}
}

func TestOneAgentPerNode(t *testing.T) {
	leaving, coming, homeless := agentPod("a"), agentPod("a"), agentPod("")
	leaving.Name, coming.Name = "leaving", "coming"
	leaving.DeletionTimestamp = &made
	other := agentPod("b")
	other.DeletionTimestamp = &made
	got := onePerNode([]corev1.Pod{other, leaving, homeless, coming})
	if len(got) != 2 || got[0].Name != "coming" || got[1].Spec.NodeName != "b" {
		t.Errorf("got %v", got)
	}
}

func TestFrame(t *testing.T) {
	for name, tc := range map[string]struct {
		text       string
		rows, cols int
		want       []string
	}{
		"fits":                 {"a\nb\n", 3, 10, []string{"a", "b"}},
		"too long":             {"a\nb\nc\n", 3, 60, []string{"a", "… 2 lines more; name nodes, give -n, or enlarge the terminal"}},
		"a line wraps":         {"aaaaaaaaaaa\nb\nc\n", 4, 10, []string{"aaaaaaaaaaa", "… 2 lines more; name nodes, give -n, or enlarge the terminal"}},
		"unknown size has all": {"a\nb\nc\n", 0, 0, []string{"a", "b", "c"}},
	} {
		t.Run(name, func(t *testing.T) {
			want := cursorHome + strings.Join(tc.want, clearLine+"\n") + clearLine + "\n" + clearRest
			if got := frame(tc.text, tc.rows, tc.cols); got != want {
				t.Errorf("got  %q\nwant %q", got, want)
			}
		})
	}
}
