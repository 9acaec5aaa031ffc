//go:build e2e

// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
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
)

// sameContainer fails when a pod's container was restarted.
func sameContainer(t *testing.T, before *corev1.Pod) {
	t.Helper()
	after := running(t, before.Name)
	b, a := before.Status.ContainerStatuses[0], after.Status.ContainerStatuses[0]
	if a.ContainerID != b.ContainerID || a.RestartCount != b.RestartCount {
		t.Errorf("the container of %s was restarted: %s (%d restarts) before, %s (%d) after", before.Name, b.ContainerID, b.RestartCount, a.ContainerID, a.RestartCount)
	}
}

func sameIDs(t *testing.T, before []string) {
	t.Helper()
	eventually(t, 30*time.Second, "the slices have the same IDs", func(ctx context.Context) error {
		after, err := ids(ctx)
		if err != nil {
			return err
		}
		if !slices.Equal(before, after) {
			return fmt.Errorf("before %v, after %v", before, after)
		}
		return nil
	})
}

// agentPID is the process of the node agent on this machine; 0 for none.
func agentPID(t *testing.T) int { return processOf(t, "aipub-node", "--node-name="+nodeName) }

// processOf finds the process of a program that was given an argument; 0 for none.
func processOf(t *testing.T, program, argument string) int {
	t.Helper()
	exes, err := filepath.Glob("/proc/[0-9]*/exe")
	if err != nil {
		t.Fatal(err)
	}
	for _, exe := range exes {
		target, err := os.Readlink(exe)
		if err != nil || filepath.Base(target) != program {
			continue
		}
		cmdline, _ := os.ReadFile(filepath.Join(filepath.Dir(exe), "cmdline"))
		if !strings.Contains(string(cmdline), argument) {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(exe)))
		if err != nil {
			t.Fatal(err)
		}
		return pid
	}
	return 0
}

// holderOf is the slice that a pod holds.
func holderOf(t *testing.T, name string) string {
	t.Helper()
	var id string
	eventually(t, 20*time.Second, "the NodePartition says what "+name+" holds", func(ctx context.Context) error {
		held, err := holdings(ctx)
		if err != nil {
			return err
		}
		for i, p := range held {
			if p == name {
				id = i
				return nil
			}
		}
		return fmt.Errorf("holders %v", held)
	})
	return id
}

func TestAKubeletRestartDisturbsNobody(t *testing.T) {
	expectAllocatable(t, wholeNode)
	start(t, pod("survivor", "small"))
	before := running(t, "survivor")
	slice := holderOf(t, "survivor")
	known, err := ids(t.Context())
	if err != nil {
		t.Fatal(err)
	}

	clusterCtl(t, "kill", "kubelet")
	start(t, pod("pending", "medium")) // while the kubelet is down
	clusterCtl(t, "start", "kubelet")

	running(t, "pending")
	sameContainer(t, before)
	sameIDs(t, known)
	if after := holderOf(t, "survivor"); after != slice {
		t.Errorf("survivor holds %s, held %s before", after, slice)
	}
	expectAllocatable(t, map[string]int64{"small": 2, "medium": 1 + 0, "large": 1, "mig-small": 4, "mig-medium": 1})
}

// killed ends a program of the product at once, and returns its process.
func killed(t *testing.T, program, argument string) (pid int) {
	t.Helper()
	if pid = processOf(t, program, argument); pid == 0 {
		t.Fatalf("no process of %s found", program)
	}
	process, err := os.FindProcess(pid)
	if err != nil {
		t.Fatal(err)
	}
	if err := process.Kill(); err != nil {
		t.Fatal(err)
	}
	return pid
}

// killAgent ends the agent's process at once and waits for the next one.
func killAgent(t *testing.T) {
	t.Helper()
	pid := killed(t, "aipub-node", "--node-name="+nodeName)
	eventually(t, time.Minute, "another agent process runs", func(context.Context) error {
		if now := agentPID(t); now == 0 || now == pid {
			return fmt.Errorf("pid %d, killed %d", now, pid)
		}
		return nil
	})
}

func TestAKilledAgentComesBackAsItWas(t *testing.T) {
	expectAllocatable(t, wholeNode)
	start(t, pod("survivor", "mig-small"))
	before := running(t, "survivor")
	slice := holderOf(t, "survivor")
	known, err := ids(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	instances := gpusim(t, "state")

	killAgent(t)
	expectAllocatable(t, wholeNode)

	sameContainer(t, before)
	sameIDs(t, known)
	if after := holderOf(t, "survivor"); after != slice {
		t.Errorf("survivor holds %s, held %s before", after, slice)
	}
	if after := gpusim(t, "state"); after != instances {
		t.Errorf("the MIG instances changed:\n%s\nbefore:\n%s", after, instances)
	}
	start(t, pod("next", "mig-small"))
	running(t, "next")
}

func TestARebootKeepsIDsAndAdmitsWhatWaits(t *testing.T) {
	expectAllocatable(t, wholeNode)
	known, err := ids(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	mustKubectl(t, "apply", "-f", "testdata/reboot.yaml")
	t.Cleanup(func() {
		mustKubectl(t, "-n", project, "delete", "deployment", "reborn", "--wait", "--cascade=foreground")
	})
	mustKubectl(t, "-n", project, "rollout", "status", "deployment/reborn", "--timeout=90s")

	clusterCtl(t, "reboot")
	if state := gpusim(t, "state"); strings.Contains(state, "GI ") {
		t.Logf("instances exist again already:\n%s", state)
	}

	// The instances are made anew under the same IDs, and the Deployment's pod
	// runs again, on a MIG slice.
	expectAllocatable(t, wholeNode)
	sameIDs(t, known)
	eventually(t, 2*time.Minute, "the Deployment's pod runs after the reboot", func(ctx context.Context) error {
		var pods corev1.PodList
		if err := shared.List(ctx, &pods, client.InNamespace(project), client.MatchingLabels{"app": "reborn"}); err != nil {
			return err
		}
		var seen []string
		for _, p := range pods.Items {
			if s := p.Status; p.DeletionTimestamp == nil && s.Phase == corev1.PodRunning && len(s.ContainerStatuses) > 0 && s.ContainerStatuses[0].Ready {
				return nil
			}
			seen = append(seen, fmt.Sprintf("%s %s %s %s", p.Name, p.Status.Phase, p.Status.Reason, p.Status.Message))
		}
		return fmt.Errorf("%v", seen)
	})
}
