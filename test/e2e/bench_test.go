//go:build e2e

// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const pluginDir = "/var/lib/kubelet/device-plugins"

// BenchmarkReregister measures, on the real kubelet, the time from the creation
// of kubelet.sock after a kill of the kubelet until it lists the devices of every
// set again, while pods run and pods wait.
func BenchmarkReregister(b *testing.B) {
	sets := int64(len(wholeNode))
	running := []*corev1.Pod{pod("bench-small", "small"), pod("bench-mig", "mig-small")}
	for _, p := range running {
		startBench(b, p)
	}
	metrics := benchMetrics(b)
	const rounds = 10
	var took []time.Duration
	for range rounds {
		watcher, err := fsnotify.NewWatcher()
		if err != nil {
			b.Fatal(err)
		}
		if err := watcher.Add(pluginDir); err != nil {
			b.Fatal(err)
		}
		benchCtl(b, "kill", "kubelet")
		waiting := pod("bench-waiting", "small")
		if err := shared.Create(context.Background(), waiting); err != nil {
			b.Fatal(err)
		}
		before := registrations(b, metrics)
		done := make(chan error, 1)
		go func() {
			_, err := command("../cluster/cluster.sh", "start", "kubelet")
			done <- err
		}()
		created := socketCreated(b, watcher)
		deadline := time.Now().Add(30 * time.Second)
		for registrations(b, metrics) < before+sets || streams(b, metrics) < sets {
			if time.Now().After(deadline) {
				b.Fatal("not all sets were listed within 30 s")
			}
			time.Sleep(2 * time.Millisecond)
		}
		took = append(took, time.Since(created))
		_ = watcher.Close()
		if err := <-done; err != nil {
			b.Fatal(err)
		}
		awaitRunning(b, waiting.Name)
		deleteBench(b, waiting)
		settle(b)
	}
	slices.Sort(took)
	for _, p := range running {
		deleteBench(b, p)
	}
	report(b, "node.reregister_s", took[len(took)-1].Seconds(), "s", took)
}

// settle starts and ends a pod on the kubelet that now runs. The kubelet frees the
// devices of pods that are gone when it next allocates, but not in its first
// moments; without this, each round would leave it one device short.
func settle(b *testing.B) {
	b.Helper()
	p := pod("bench-settle", "cpu")
	startBench(b, p)
	deleteBench(b, p)
	if out, err := kubectl("-n", project, "wait", "pod", "--all", "--for=jsonpath={.status.phase}=Running", "--timeout=60s"); err != nil {
		b.Fatalf("%v: %s", err, out)
	}
}

// socketCreated waits until the kubelet has made its socket.
func socketCreated(b *testing.B, w *fsnotify.Watcher) time.Time {
	b.Helper()
	timeout := time.After(30 * time.Second)
	for {
		select {
		case e := <-w.Events:
			if e.Has(fsnotify.Create) && filepath.Base(e.Name) == "kubelet.sock" {
				return time.Now()
			}
		case err := <-w.Errors:
			b.Fatal(err)
		case <-timeout:
			b.Fatal("the kubelet made no socket within 30 s")
		}
	}
}

// BenchmarkChurn creates and deletes pods of random sets on the real kubelet and
// counts those that the kubelet admitted from the scheduler and then rejected:
// the race that counting each size alone leaves (docs/adr/0002).
func BenchmarkChurn(b *testing.B) {
	const pods, seed = 300, 1
	rng := rand.New(rand.NewPCG(seed, seed))
	names := []string{"small", "small", "medium", "mig-small", "mig-medium", "large"}
	ctx, cancel := context.WithTimeout(context.Background(), 8*time.Minute)
	defer cancel()
	begin := time.Now()
	rejected, ran := 0, 0
	for made := 0; made < pods; {
		var batch []*corev1.Pod
		for range 12 {
			p := pod(fmt.Sprintf("churn-%03d", made), names[rng.IntN(len(names))])
			p.Spec.Containers[0].Command = []string{"/bin/true"}
			p.Spec.RestartPolicy = corev1.RestartPolicyNever
			if err := shared.Create(ctx, p); err != nil {
				b.Fatal(err)
			}
			batch = append(batch, p)
			made++
		}
		for _, p := range batch {
			ended := awaitEnd(ctx, b, p)
			switch {
			case ended.Status.Phase == corev1.PodSucceeded:
				ran++
			case strings.Contains(ended.Status.Reason, "UnexpectedAdmissionError"), strings.Contains(ended.Status.Reason, "OutOf"):
				rejected++
			default:
				b.Fatalf("pod %s: %s %s %s", p.Name, ended.Status.Phase, ended.Status.Reason, ended.Status.Message)
			}
			deleteBench(b, p)
		}
	}
	report(b, "node.rejected_pods", float64(rejected), "pods_of_300", nil)
	report(b, "node.pods_per_s", float64(ran)/time.Since(begin).Seconds(), "pods/s", nil)
}

func awaitEnd(ctx context.Context, b *testing.B, p *corev1.Pod) *corev1.Pod {
	b.Helper()
	for {
		var now corev1.Pod
		if err := shared.Get(ctx, client.ObjectKeyFromObject(p), &now); err != nil {
			b.Fatal(err)
		}
		if now.Status.Phase == corev1.PodSucceeded || now.Status.Phase == corev1.PodFailed {
			return &now
		}
		select {
		case <-ctx.Done():
			b.Fatalf("pod %s: %s, %+v", p.Name, now.Status.Phase, now.Status.Conditions)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func startBench(b *testing.B, p *corev1.Pod) {
	b.Helper()
	if err := shared.Create(context.Background(), p); err != nil {
		b.Fatal(err)
	}
	awaitRunning(b, p.Name)
}

func awaitRunning(b *testing.B, name string) {
	b.Helper()
	if out, err := kubectl("-n", project, "wait", "pod/"+name, "--for=condition=Ready", "--timeout=60s"); err != nil {
		b.Fatalf("pod %s: %v: %s", name, err, out)
	}
}

func deleteBench(b *testing.B, p *corev1.Pod) {
	b.Helper()
	if err := shared.Delete(context.Background(), p); client.IgnoreNotFound(err) != nil {
		b.Fatal(err)
	}
}

func benchCtl(b *testing.B, args ...string) {
	b.Helper()
	if out, err := command("../cluster/cluster.sh", args...); err != nil {
		b.Fatalf("cluster %v: %v: %s", args, err, out)
	}
}

// report prints a figure and keeps its samples, in seconds.
func report(b *testing.B, name string, value float64, unit string, samples []time.Duration) {
	b.Helper()
	fmt.Printf("BENCH %s %.4g %s\n", name, value, unit)
	dir := os.Getenv("BENCH_OUT")
	if dir == "" || samples == nil {
		return
	}
	var text strings.Builder
	for _, s := range samples {
		fmt.Fprintf(&text, "%.6f\n", s.Seconds())
	}
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text.String()), 0o644); err != nil {
		b.Error(errors.Join(errors.New("keep samples"), err))
	}
}

// benchMetrics is the URL of the agent's metrics.
func benchMetrics(b *testing.B) string {
	b.Helper()
	ip, err := kubectl("-n", "aipub-system", "get", "pod", "-l", "app.kubernetes.io/component=node", "-o", "jsonpath={.items[0].status.podIP}")
	if err != nil {
		b.Fatal(err)
	}
	return "http://" + strings.TrimSpace(ip) + ":9402/metrics"
}

// registrations counts the successful registrations of all sets.
func registrations(b *testing.B, url string) int64 {
	return sum(b, url, "aipub_plugin_registrations_total{", `result="ok"`)
}

// streams counts the kubelet's list streams.
func streams(b *testing.B, url string) int64 { return sum(b, url, "aipub_plugin_streams{", "") }

// sum adds up the series of a scrape that begin so and contain a label.
func sum(b *testing.B, url, prefix, label string) int64 {
	b.Helper()
	resp, err := http.Get(url)
	if err != nil {
		b.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		b.Fatal(err)
	}
	var total float64
	for line := range strings.Lines(string(body)) {
		if !strings.HasPrefix(line, prefix) || !strings.Contains(line, label) {
			continue
		}
		fields := strings.Fields(line)
		v, err := strconv.ParseFloat(fields[len(fields)-1], 64)
		if err != nil {
			b.Fatal(err)
		}
		total += v
	}
	return int64(total)
}
