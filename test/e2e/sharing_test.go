//go:build e2e

// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/sharer"
)

const (
	simulation = "/run/gpusim" // the simulated driver's state, which its library opens
	glibc      = "aipub.test/tenant:1"
)

// program is a pod that runs a program on the simulated GPU.
func program(name, set, image string, command ...string) *corev1.Pod {
	p := pod(name, set)
	main := &p.Spec.Containers[0]
	main.Image, main.Command = image, command
	main.VolumeMounts = []corev1.VolumeMount{{Name: "gpusim", MountPath: simulation}}
	p.Spec.Volumes = []corev1.Volume{{Name: "gpusim", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: simulation}}}}
	return p
}

// busy is a program that never rests.
func busy(name, set string, args ...string) *corev1.Pod {
	return program(name, set, glibc, append([]string{"tenant", "--kernel-us", "1000", "--burst", "4", "--window-ms", "200"}, args...)...)
}

// shares asks the node's agent, as kubectl aipub top does.
func shares(ctx context.Context) (map[string]sharer.TenantReport, sharer.Instant, error) {
	var pods corev1.PodList
	if err := shared.List(ctx, &pods, client.InNamespace("aipub-system"), client.MatchingLabels{"app.kubernetes.io/component": "node"}); err != nil {
		return nil, 0, err
	}
	last := fmt.Errorf("no agent")
	for _, p := range pods.Items { // one that ends and one that begins, for a moment
		raw, err := shared.core.CoreV1().RESTClient().Get().Namespace(p.Namespace).Resource("pods").Name(p.Name + ":9402").
			SubResource("proxy").Suffix(sharer.ReportPath).DoRaw(ctx)
		var r sharer.Report
		if err == nil {
			err = json.Unmarshal(raw, &r)
		}
		if err != nil {
			last = err
			continue
		}
		byPod := map[string]sharer.TenantReport{}
		for _, t := range r.Tenants {
			byPod[t.Pod] = t
		}
		return byPod, r.At, nil
	}
	return nil, 0, last
}

// rates watches for a while and says what each pod had of the GPU meanwhile.
func rates(t *testing.T, d time.Duration) map[string]sharer.Rates {
	t.Helper()
	before, from, err := shares(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(d) // what is measured is an average over this time
	after, to, err := shares(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]sharer.Rates{}
	for name, r := range after {
		out[name] = sharer.RatesBetween(before[name], r, to.Sub(from))
	}
	return out
}

// attached waits until a pod's processes have the limiter.
func attached(t *testing.T, names ...string) {
	t.Helper()
	eventually(t, 30*time.Second, fmt.Sprintf("%v are attached and work", names), func(ctx context.Context) error {
		now, _, err := shares(ctx)
		if err != nil {
			return err
		}
		for _, n := range names {
			if now[n].Processes != 1 || now[n].Launches == 0 {
				return fmt.Errorf("%s: %+v", n, now[n])
			}
		}
		return nil
	})
}

// settles waits until each of these pods, all busy, has its half of the GPU. It
// looks more than once: on a machine that has no processor left for a moment, a
// program cannot use what it is given.
func settles(t *testing.T, what string, names ...string) {
	t.Helper()
	eventually(t, 20*time.Second, what, func(context.Context) error {
		r := rates(t, time.Second)
		for _, n := range names {
			if used := r[n].Used; used < 40 || used > 56 {
				return fmt.Errorf("%s used %.1f %%, want 40 to 56: %+v", n, used, r)
			}
		}
		return nil
	})
}

func TestTwoBusySlicesShareAndTheIdleOneLends(t *testing.T) {
	start(t, busy("one", "medium"))
	start(t, busy("two", "medium"))
	attached(t, "one", "two")
	settles(t, "two busy ones have a half each", "one", "two")

	execIn(t, "one", "kill -USR1 1")
	eventually(t, 20*time.Second, "the idle one's time is used", func(context.Context) error {
		if r := rates(t, time.Second); r["two"].Used < 85 || r["two"].Borrowed < 30 || r["one"].Lent < 30 {
			return fmt.Errorf("%+v", r)
		}
		return nil
	})

	execIn(t, "one", "kill -USR2 1")
	eventually(t, 20*time.Second, "its owner has it back", func(context.Context) error {
		if r := rates(t, time.Second); r["one"].Used < 40 {
			return fmt.Errorf("%+v", r)
		}
		return nil
	})
	now, _, err := shares(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	woke := uint64(0)
	for _, n := range now["one"].Reclaims {
		woke += n
	}
	if woke == 0 {
		t.Error("no reclaim was counted")
	}
	noFindings(t, "one", "two")
	t.Logf("it waited %s when it woke (longest so far %s, longest kernel %s)", now["one"].LastReclaim, now["one"].LongestReclaim, now["one"].Longest)
}

// noFindings asks that the audit has nothing against pods that behave.
func noFindings(t *testing.T, pods ...string) {
	t.Helper()
	s, err := partition(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, sl := range s.Slices {
		if sl.Holder != nil && slices.Contains(pods, sl.Holder.Pod) && sl.Share != nil && len(sl.Share.Findings) > 0 {
			t.Errorf("the audit has against %s: %+v", sl.Holder.Pod, sl.Share.Findings)
		}
	}
}

func TestALateComerHasItsGuarantee(t *testing.T) {
	start(t, busy("early", "medium"))
	attached(t, "early")
	start(t, busy("late", "medium"))
	attached(t, "late")
	settles(t, "the late one has its half", "late", "early")
}

func TestAnAgentThatIsKilledDisturbsNoProgram(t *testing.T) {
	start(t, busy("one", "medium"))
	start(t, busy("two", "medium"))
	attached(t, "one", "two")
	before := running(t, "one").Status.ContainerStatuses[0].ContainerID
	killAgent(t)
	attached(t, "one", "two")
	settles(t, "they have a half each afterwards", "one", "two")
	if after := running(t, "one").Status.ContainerStatuses[0].ContainerID; after != before {
		t.Errorf("the container was %s and is %s", before, after)
	}
}

func TestMemoryEndsAtTheSlicesLimit(t *testing.T) {
	s, err := partition(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	limit := int64(0)
	for _, sl := range s.Slices {
		if sl.Set == "small" {
			limit = sl.BlockMemory.Value() >> 20
		}
	}
	start(t, busy("fits", "small", "--alloc-mib", strconv.FormatInt(limit-2048, 10)))
	attached(t, "fits")
	start(t, busy("greedy", "small", "--alloc-mib", strconv.FormatInt(limit, 10))) // its context does not fit as well
	eventually(t, time.Minute, "the greedy one is refused", func(context.Context) error {
		out, err := kubectl("-n", project, "logs", "greedy")
		if err != nil || !strings.Contains(out, "OUT_OF_MEMORY") {
			return fmt.Errorf("%w: %s", err, out)
		}
		return nil
	})
}

func TestAnImagesOwnPreloadListStays(t *testing.T) {
	start(t, program("own-list", "small", "aipub.test/tenant-preload:1", "tenant", "--window-ms", "200"))
	attached(t, "own-list")
	maps := execIn(t, "own-list", "cat /proc/1/maps")
	for _, library := range []string{"libmark.so", "libaipub"} {
		if !strings.Contains(maps, library) {
			t.Errorf("the program has not loaded %s", library)
		}
	}
}

// TestARestrictedPodIsLimitedToo runs what the Pod Security level restricted
// demands: no root, a read-only root file system, no capabilities.
func TestARestrictedPodIsLimitedToo(t *testing.T) {
	p := busy("restricted", "small")
	yes, no, user := true, false, int64(4711)
	p.Spec.SecurityContext = &corev1.PodSecurityContext{
		RunAsNonRoot: &yes, RunAsUser: &user, SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
	}
	p.Spec.Containers[0].SecurityContext = &corev1.SecurityContext{
		ReadOnlyRootFilesystem: &yes, AllowPrivilegeEscalation: &no, Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
	}
	start(t, p)
	attached(t, "restricted")
	if out := execIn(t, "restricted", "echo x > /run/aipub/slices/*/grant; echo $?"); strings.HasSuffix(strings.TrimSpace(out), "0") {
		t.Errorf("the container can write its own limits: %s", out)
	}
}

func TestMuslIsRefusedWithASentence(t *testing.T) {
	start(t, program("musl", "small", "aipub.test/musl:1", "tenant"))
	eventually(t, time.Minute, "the reason is told", func(context.Context) error {
		out, err := kubectl("-n", project, "describe", "pod", "musl")
		if err != nil || !strings.Contains(out, "musl libc") || !strings.Contains(out, "use an image with glibc") {
			return fmt.Errorf("%w: %s", err, out)
		}
		return nil
	})
}

// hostPID finds the process of a pod by the name of its program.
func hostPID(t *testing.T, program string) string {
	t.Helper()
	names, err := filepath.Glob("/proc/[0-9]*/comm")
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range names {
		if comm, err := os.ReadFile(n); err == nil && strings.TrimSpace(string(comm)) == program {
			return filepath.Base(filepath.Dir(n))
		}
	}
	t.Fatalf("no process is called %s", program)
	return ""
}

// unattached sets what the policy does about processes past the limiter.
func unattached(t *testing.T, what api.Unattached) {
	t.Helper()
	mustKubectl(t, "patch", "partitionpolicy", "demo", "--type=merge", "-p", fmt.Sprintf(`{"spec":{"unattached":%q}}`, what))
}

func TestAProcessWithoutTheLimiterIsFoundAndTreated(t *testing.T) {
	start(t, program("loose", "small", "aipub.test/loose:1", "loose"))
	running(t, "loose")
	gpusim(t, "process", "add", "0", hostPID(t, "loose"), "--memory", "512MiB", "--real", "yes")
	since := time.Now()
	eventually(t, 30*time.Second, "the NodePartition names it", func(ctx context.Context) error {
		s, err := partition(ctx)
		if err != nil {
			return err
		}
		for _, sl := range s.Slices {
			if sl.Holder != nil && sl.Holder.Pod == "loose" && sl.Share != nil && len(sl.Share.Findings) == 1 && sl.Share.Findings[0].Reason == "NotAttached" {
				return nil
			}
		}
		return fmt.Errorf("no slice has the finding")
	})
	t.Logf("found after %s", time.Since(since).Round(time.Millisecond))
	if out, err := command(mustAbs("../../bin/kubectl-aipub"), "top", "--once"); err != nil || !strings.Contains(out, "NotAttached") {
		t.Errorf("kubectl aipub top does not tell: %v\n%s", err, out)
	}
	eventually(t, 30*time.Second, "an event tells the user", func(context.Context) error {
		out, err := kubectl("-n", project, "get", "events", "--field-selector", "reason=NotAttached,involvedObject.name=loose", "-o", "jsonpath={.items[*].message}")
		if err != nil || !strings.Contains(out, "without the limiter") {
			return fmt.Errorf("%w: %s", err, out)
		}
		return nil
	})
	if p := running(t, "loose"); p.Status.ContainerStatuses[0].RestartCount != 0 {
		t.Error("policy Warn ended it")
	}
	t.Cleanup(func() { unattached(t, api.UnattachedWarn) })
	unattached(t, api.UnattachedKill)
	eventually(t, 30*time.Second, "policy Kill ends it", func(ctx context.Context) error {
		var p corev1.Pod
		if err := shared.Get(ctx, client.ObjectKey{Namespace: project, Name: "loose"}, &p); err != nil {
			return err
		}
		if len(p.Status.ContainerStatuses) == 0 || p.Status.ContainerStatuses[0].RestartCount == 0 {
			return fmt.Errorf("%+v", p.Status.ContainerStatuses)
		}
		return nil
	})
	unattached(t, api.UnattachedEvict)
	eventually(t, 30*time.Second, "it runs again", func(context.Context) error {
		_, err := kubectl("-n", project, "wait", "pod/loose", "--for=condition=Ready", "--timeout=1s")
		return err
	})
	gpusim(t, "process", "add", "0", hostPID(t, "loose"), "--memory", "512MiB", "--real", "yes")
	eventually(t, 30*time.Second, "policy Evict takes the pod away", func(ctx context.Context) error {
		var p corev1.Pod
		err := shared.Get(ctx, client.ObjectKey{Namespace: project, Name: "loose"}, &p)
		if client.IgnoreNotFound(err) == nil && err != nil || p.DeletionTimestamp != nil {
			return nil
		}
		return fmt.Errorf("it is still there: %w", err)
	})
}
