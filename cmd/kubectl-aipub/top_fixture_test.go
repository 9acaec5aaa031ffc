// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"aipub.io/aipub/sharer"
)

const podsPath = "/api/v1/pods"

// agentPod is the pod of a node's agent, as the chart makes it.
func agentPod(node string) corev1.Pod {
	return corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "aipub-system", Name: "aipub-node-" + node},
		Spec: corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{
			Name: "agent", Ports: []corev1.ContainerPort{{Name: "metrics", ContainerPort: 9402}},
		}}},
		Status: corev1.PodStatus{Phase: corev1.PodRunning},
	}
}

func proxyPath(node string) string {
	return "/api/v1/namespaces/aipub-system/pods/aipub-node-" + node + ":9402/proxy/shares"
}

// inTurn answers with one report after the other, then with the last.
func inTurn(reports ...sharer.Report) http.HandlerFunc {
	var mu sync.Mutex
	return func(w http.ResponseWriter, _ *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		_ = json.NewEncoder(w).Encode(reports[0])
		if len(reports) > 1 {
			reports = reports[1:]
		}
	}
}

// agents answers for the agents of nodes, each with what is given for it.
func agents(answers map[string]any) map[string]any {
	var pods corev1.PodList
	all := map[string]any{}
	for node, answer := range answers {
		pods.Items = append(pods.Items, agentPod(node))
		all[proxyPath(node)] = answer
	}
	all[podsPath] = pods
	return all
}

// with adds answers.
func with(answers, more map[string]any) map[string]any {
	answers = maps.Clone(answers)
	maps.Copy(answers, more)
	return answers
}

func ms(n float64) time.Duration { return time.Duration(n * float64(time.Millisecond)) }

// trainer borrows what notebook leaves, and serving waits for the trainer.
func trainer() sharer.TenantReport {
	return sharer.TenantReport{
		ID: "train", Namespace: "vision", Pod: "train-7f9c-0", Container: "main", Set: "small", Slices: []string{"9f62a139-small-0"}, GPUs: []int{0},
		Percent: 25, MaxPercent: 100, Lends: true, Borrows: true, Processes: 1, HasLease: true, HasBorrowed: true, Wants: true,
		MemoryBytes: 21 << 30, MemoryLimitBytes: 35 << 30, Longest: ms(31.5), Debt: ms(4), Leases: 4100, Launches: 120_000,
		Used: 90 * time.Second, Borrowed: 60 * time.Second, Waited: time.Second,
		Reclaims: []uint64{0, 3, 40, 1}, LastReclaim: ms(3.2), LongestReclaim: ms(7.9),
	}
}

func notebook() sharer.TenantReport {
	return sharer.TenantReport{
		ID: "notebook", Namespace: "lab", Pod: "notebook-kim-0", Container: "main", Set: "medium", Slices: []string{"9f62a139-medium-0"}, GPUs: []int{0},
		Percent: 50, MaxPercent: 100, Lends: true, Borrows: true, Processes: 1,
		MemoryBytes: 8 << 30, MemoryLimitBytes: 70 << 30, MemoryRefused: 2, Leases: 80, Launches: 900, Longest: ms(2),
		Used: 4 * time.Second, Lent: 40 * time.Second, Reclaims: []uint64{0, 0, 9, 0, 0, 0, 0, 0, 0, 0, 1}, LastReclaim: ms(4), LongestReclaim: 1200 * time.Millisecond,
	}
}

// serving has two slices, on two GPUs, and a process past the limiter.
func serving() sharer.TenantReport {
	return sharer.TenantReport{
		ID: "serve", Namespace: "vision", Pod: "serve-0", Container: "server", Set: "small", Slices: []string{"825bdab0-small-1", "9f62a139-small-2"}, GPUs: []int{1, 0},
		Percent: 50, MaxPercent: 50, Lends: false, Borrows: false, Processes: 2, Wants: true,
		MemoryBytes: 10 << 30, MemoryLimitBytes: 70 << 30, Leases: 10, Launches: 5000,
		Findings: []sharer.FindingReport{{PID: 4711, Reason: "NotAttached", Message: "process 4711 uses GPU-1 without the limiter; use an image with glibc 2.17 or later"}},
	}
}

// twoRounds are reports of gpu-01, two seconds apart.
func twoRounds() (before, after sharer.Report) {
	at := sharer.Instant(time.Hour)
	before = sharer.Report{Node: "gpu-01", BootID: "boot-1", At: at, Tenants: []sharer.TenantReport{trainer(), notebook(), serving()}}
	after = sharer.Report{Node: "gpu-01", BootID: "boot-1", At: at.Add(2 * time.Second), Tenants: []sharer.TenantReport{trainer(), notebook(), serving()}}
	after.Tenants[0].Used += ms(1420)
	after.Tenants[0].Borrowed += ms(920)
	after.Tenants[0].Waited += ms(30)
	after.Tenants[0].Launches += 5000
	after.Tenants[1].Used += ms(6)
	after.Tenants[1].Lent += ms(920)
	after.Tenants[2].Used += ms(800)
	after.Tenants[2].Waited += ms(500)
	return before, after
}

// sharedCluster has an agent that answers, one that answers garbage and one that
// is down.
func sharedCluster() map[string]any {
	var garbage http.HandlerFunc = func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(w, "<html>hello</html>") }
	before, after := twoRounds()
	return agents(map[string]any{"gpu-01": inTurn(before, after), "gpu-02": garbage, "gpu-03": http.StatusServiceUnavailable})
}

// watched is what `kubectl aipub top` shows in so many rounds on a terminal of
// 60 by 250, or in print when the rounds are 0; then waiting ends at once.
func watched(t *testing.T, url string, rounds int, args ...string) string {
	t.Helper()
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	var screen bytes.Buffer
	fmt.Fprintln(&screen, "$ kubectl aipub", strings.Join(args, " "))
	a := newApp(genericiooptions.IOStreams{In: strings.NewReader(""), Out: &screen, ErrOut: &screen}, "v0.1.0", func() time.Time { return clock })
	a.screen = func() (int, int, bool) { return 60, 250, rounds > 0 }
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	left := rounds
	a.wait = func(ctx context.Context, _ time.Duration) error {
		if left--; left == 0 {
			stop()
		}
		return ctx.Err()
	}
	if code := a.run(ctx, append(args, "--server", url)); code != 0 {
		fmt.Fprintf(&screen, "exit status %d\n", code)
	}
	return screen.String()
}
