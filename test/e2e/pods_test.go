//go:build e2e

// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "aipub.io/aipub/api/v1alpha1"
)

// gpuNodes lists the GPU device nodes that a pod sees.
func gpuNodes(t *testing.T, pod string) []string {
	t.Helper()
	out := strings.Fields(execIn(t, pod, "cd /dev; ls -d nvidia[0-9]* 2>/dev/null; ls -d nvidia-caps/* 2>/dev/null; true"))
	slices.Sort(out)
	return out
}

func TestAPodGetsItsCPUItsMemoryAndExactlyItsGPU(t *testing.T) {
	expectAllocatable(t, wholeNode)
	cases := map[string]struct{ set, device string }{
		"a block slice": {"small", "nvidia0"},
		"a whole GPU":   {"large", "nvidia2"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			start(t, pod("p-"+tc.set, tc.set))
			p := running(t, "p-"+tc.set)
			expectSetSize(t, p, tc.set)
			if got := gpuNodes(t, p.Name); !slices.Equal(got, []string{tc.device}) {
				t.Errorf("the container sees %v, want exactly %s", got, tc.device)
			}
			if got := strings.TrimSpace(execIn(t, p.Name, "echo $AIPUB_SET")); got != tc.set {
				t.Errorf("AIPUB_SET is %q", got)
			}
			if got := execIn(t, p.Name, "find /usr /lib* -name 'libnvidia-ml.so*' 2>/dev/null; true"); !strings.Contains(got, "libnvidia-ml.so") {
				t.Errorf("the driver's library is not in the container: %q", got)
			}
		})
	}
	t.Run("a MIG instance", func(t *testing.T) {
		start(t, pod("p-mig", "mig-small"))
		p := running(t, "p-mig")
		expectSetSize(t, p, "mig-small")
		got := gpuNodes(t, p.Name)
		if !slices.Contains(got, "nvidia1") || len(got) != 3 {
			t.Errorf("the container sees %v, want nvidia1 and the two capability nodes of one instance", got)
		}
	})
	t.Run("a set without GPU", func(t *testing.T) {
		start(t, pod("p-cpu", "cpu"))
		p := running(t, "p-cpu")
		if got := gpuNodes(t, p.Name); len(got) != 0 {
			t.Errorf("the container sees %v", got)
		}
	})
}

// expectSetSize checks that the pod was given what its set says, as requests and
// limits.
func expectSetSize(t *testing.T, p *corev1.Pod, set string) {
	t.Helper()
	var rs api.ResourceSet
	if err := shared.Get(t.Context(), client.ObjectKey{Name: set}, &rs); err != nil {
		t.Fatal(err)
	}
	for _, list := range []corev1.ResourceList{p.Spec.Containers[0].Resources.Limits, p.Spec.Containers[0].Resources.Requests} {
		if list.Cpu().Cmp(rs.Spec.CPU) != 0 || list.Memory().Cmp(rs.Spec.Memory) != 0 {
			t.Errorf("the pod has cpu %s and memory %s, its set %s and %s", list.Cpu(), list.Memory(), &rs.Spec.CPU, &rs.Spec.Memory)
		}
	}
	if p.Status.QOSClass != corev1.PodQOSGuaranteed {
		t.Errorf("QoS class %s, want Guaranteed", p.Status.QOSClass)
	}
}

func TestSizesShareAGPUAndOverlapShowsInWhatIsOffered(t *testing.T) {
	expectAllocatable(t, wholeNode)
	medium := start(t, pod("medium", "medium"))
	running(t, "medium")
	expectAllocatable(t, map[string]int64{"medium": 2, "small": 2, "large": 1, "mig-small": 4})

	one := start(t, pod("small-1", "small"))
	running(t, "small-1")
	// 25 blocks are left: no second medium, one more small beside the held one.
	expectAllocatable(t, map[string]int64{"medium": 1, "small": 2})
	if a, b := gpuNodes(t, "medium"), gpuNodes(t, "small-1"); !slices.Equal(a, b) {
		t.Errorf("they are not on the same GPU: %v and %v", a, b)
	}

	waiting := start(t, pod("medium-2", "medium"))
	eventually(t, 20*time.Second, "a second medium waits, and says for what", func(ctx context.Context) error {
		var p corev1.Pod
		if err := shared.Get(ctx, client.ObjectKeyFromObject(waiting), &p); err != nil {
			return err
		}
		for _, c := range p.Status.Conditions {
			if c.Type == api.ConditionAllocated && c.Reason == api.ReasonNoRoomOnNodes && strings.Contains(c.Message, "aipub.io/set-medium") {
				return nil
			}
		}
		return fmt.Errorf("phase %s, conditions %+v", p.Status.Phase, p.Status.Conditions)
	})

	eventually(t, 20*time.Second, "the NodePartition names the holders", func(ctx context.Context) error {
		held, err := holdings(ctx)
		if err != nil {
			return err
		}
		pods := map[string]bool{}
		for _, p := range held {
			pods[p] = true
		}
		if len(held) != 2 || !pods["medium"] || !pods["small-1"] {
			return fmt.Errorf("holders %v", held)
		}
		return nil
	})

	remove(t, one)
	remove(t, medium)
	running(t, "medium-2")
	expectAllocatable(t, map[string]int64{"medium": 2, "small": 2})
	remove(t, waiting)
	expectAllocatable(t, wholeNode)
}

func TestADeploymentFillsTheNodeAndGivesEverythingBack(t *testing.T) {
	expectAllocatable(t, wholeNode)
	mustKubectl(t, "apply", "-f", "testdata/deployment.yaml")
	t.Cleanup(func() {
		mustKubectl(t, "-n", project, "delete", "deployment", "fill", "--wait", "--cascade=foreground")
		expectAllocatable(t, wholeNode)
	})
	mustKubectl(t, "-n", project, "rollout", "status", "deployment/fill", "--timeout=90s")
	expectAllocatable(t, map[string]int64{"small": 4, "medium": 0})
	eventually(t, 20*time.Second, "the NodePartition names four holders", func(ctx context.Context) error {
		held, err := holdings(ctx)
		if err != nil {
			return err
		}
		if len(held) != 4 {
			return fmt.Errorf("4 replicas hold %d slices: %v", len(held), held)
		}
		return nil
	})
}
