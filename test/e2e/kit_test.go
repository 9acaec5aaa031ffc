//go:build e2e

// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "aipub.io/aipub/api/v1alpha1"
)

// workDir is the folder of the test cluster.
func workDir() string { return filepath.Dir(filepath.Dir(os.Getenv("KUBECONFIG"))) }

func command(name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	cmd.Env = append(os.Environ(), "PATH="+filepath.Join(workDir(), "bin")+":"+mustAbs("../../bin")+":"+os.Getenv("PATH"))
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	return out.String(), err
}

func mustAbs(path string) string {
	abs, err := filepath.Abs(path)
	if err != nil {
		return path
	}
	return abs
}

// kubectl runs what a user would type.
func kubectl(args ...string) (string, error) {
	return command(filepath.Join(workDir(), "bin", "kubectl"), args...)
}

func mustKubectl(t *testing.T, args ...string) string {
	t.Helper()
	out, err := kubectl(args...)
	if err != nil {
		t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

// clusterCtl drives the node's components: restart kubelet, reboot.
func clusterCtl(t *testing.T, args ...string) string {
	t.Helper()
	out, err := command("../cluster/cluster.sh", args...)
	if err != nil {
		t.Fatalf("cluster %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

// gpusim drives the simulated hardware.
func gpusim(t *testing.T, args ...string) string {
	t.Helper()
	out, err := command("../gpusim/build/gpusim", args...)
	if err != nil {
		t.Fatalf("gpusim %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

// eventually waits for what must become true, and says what was seen last.
func eventually(t *testing.T, within time.Duration, what string, check func(ctx context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), within) // not t's: cleanups wait as well
	defer cancel()
	var last error
	for {
		if last = check(ctx); last == nil {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("%s: not within %s: %v", what, within, last)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// pod is a pod of one container that asks for one set and sleeps.
func pod(name, set string) *corev1.Pod {
	zero := int64(0)
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: project},
		Spec: corev1.PodSpec{
			TerminationGracePeriodSeconds: &zero,
			Containers: []corev1.Container{{
				Name: "main", Image: image, Command: []string{"/bin/sh", "-c", "sleep 3600"},
				Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{
					corev1.ResourceName(api.ResourcePrefix + set): resource.MustParse("1"),
				}},
			}},
		},
	}
}

// start creates a pod and removes it at the end of the test.
func start(t *testing.T, p *corev1.Pod) *corev1.Pod {
	t.Helper()
	eventually(t, time.Minute, "pod "+p.Name+" is created", func(ctx context.Context) error {
		err := shared.Create(ctx, p)
		if err != nil && !apierrors.IsInternalError(err) { // which says that a webhook is just coming back
			t.Fatalf("create pod %s: %v", p.Name, err)
		}
		return err
	})
	t.Cleanup(func() { remove(t, p) })
	return p
}

// remove deletes a pod and waits until it is gone.
func remove(t *testing.T, p *corev1.Pod) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := shared.Delete(ctx, p); client.IgnoreNotFound(err) != nil {
		t.Errorf("delete pod %s: %v", p.Name, err)
		return
	}
	for {
		err := shared.Get(ctx, client.ObjectKeyFromObject(p), &corev1.Pod{})
		if apierrors.IsNotFound(err) {
			return
		}
		select {
		case <-ctx.Done():
			t.Errorf("pod %s was not gone within a minute: %v", p.Name, err)
			return
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// running waits until a pod runs and returns it.
func running(t *testing.T, name string) *corev1.Pod {
	t.Helper()
	var p corev1.Pod
	eventually(t, time.Minute, "pod "+name+" runs", func(ctx context.Context) error {
		if err := shared.Get(ctx, client.ObjectKey{Namespace: project, Name: name}, &p); err != nil {
			return err
		}
		if p.Status.Phase != corev1.PodRunning || len(p.Status.ContainerStatuses) == 0 || !p.Status.ContainerStatuses[0].Ready {
			return fmt.Errorf("phase %s, reason %s, message %s, containers %+v", p.Status.Phase, p.Status.Reason, p.Status.Message, p.Status.ContainerStatuses)
		}
		return nil
	})
	return &p
}

// execIn runs a shell command in a pod.
func execIn(t *testing.T, pod, script string) string {
	t.Helper()
	return mustKubectl(t, "-n", project, "exec", pod, "--", "/bin/sh", "-c", script)
}

// allocatable is what the node offers of a set, as the scheduler sees it; -1
// when the name is not there.
func allocatable(ctx context.Context, set string) (int64, error) {
	var n corev1.Node
	if err := shared.Get(ctx, client.ObjectKey{Name: nodeName}, &n); err != nil {
		return 0, err
	}
	q, ok := n.Status.Allocatable[corev1.ResourceName(api.ResourcePrefix+set)]
	if !ok {
		return -1, nil
	}
	return q.Value(), nil
}

// expectAllocatable waits until the node offers exactly these numbers, and until its
// NodePartition, which is written later, knows these sets as well.
func expectAllocatable(t *testing.T, want map[string]int64) {
	t.Helper()
	eventually(t, 40*time.Second, fmt.Sprintf("the node offers %v", want), func(ctx context.Context) error {
		cut, err := partition(ctx)
		if err != nil {
			return err
		}
		for set, n := range want {
			got, err := allocatable(ctx, set)
			if err != nil {
				return err
			}
			if got != n {
				return fmt.Errorf("set %s: %d, want %d", set, got, n)
			}
			if n > 0 && !slices.ContainsFunc(cut.Slices, func(s api.NodeSlice) bool { return s.Set == set }) {
				return fmt.Errorf("set %s: the NodePartition has no slice of it yet", set)
			}
		}
		return nil
	})
}

// partition is the node's own account of itself.
func partition(ctx context.Context) (api.NodePartitionStatus, error) {
	var np api.NodePartition
	err := shared.Get(ctx, client.ObjectKey{Name: nodeName}, &np)
	return np.Status, err
}

// holdings maps each held slice to its pod.
func holdings(ctx context.Context) (map[string]string, error) {
	s, err := partition(ctx)
	if err != nil {
		return nil, err
	}
	held := map[string]string{}
	for _, sl := range s.Slices {
		if sl.Holder != nil {
			held[sl.ID] = sl.Holder.Pod
		}
	}
	return held, nil
}

// ids are all slice IDs of the node, in order.
func ids(ctx context.Context) ([]string, error) {
	s, err := partition(ctx)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, sl := range s.Slices {
		out = append(out, sl.ID)
	}
	return out, nil
}
