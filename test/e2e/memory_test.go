//go:build e2e

// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	api "aipub.io/aipub/api/v1alpha1"
)

// lending cuts the node so that set burst may borrow device memory, for the time
// of a test, and returns the guarantee of set half in MiB: half of a GPU.
func lending(t *testing.T) (half int64) {
	t.Helper()
	t.Cleanup(func() {
		mustKubectl(t, "apply", "-f", "testdata/policy.yaml")
		expectAllocatable(t, wholeNode)
	})
	mustKubectl(t, "apply", "-f", "testdata/policy-lending.yaml")
	expectAllocatable(t, map[string]int64{"half": 2, "burst": 5})
	s, err := partition(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, sl := range s.Slices {
		if sl.Set == "half" && sl.BlockMemory != nil {
			return sl.BlockMemory.Value() >> 20
		}
	}
	t.Fatalf("no slice of set half has memory: %+v", s.Slices)
	return 0
}

// hungry is a busy pod that holds so much device memory.
func hungry(name, set string, mib int64) *corev1.Pod {
	return busy(name, set, "--alloc-mib", strconv.FormatInt(mib, 10))
}

// told are the reasons of the events of a pod.
func told(t *testing.T, pod string) []string {
	t.Helper()
	out := mustKubectl(t, "-n", project, "get", "events", "--field-selector", "involvedObject.name="+pod, "-o", "jsonpath={.items[*].reason}")
	return strings.Fields(out)
}

// awaitTold waits until the pod's user was told all of these.
func awaitTold(t *testing.T, pod string, reasons ...string) {
	t.Helper()
	eventually(t, time.Minute, fmt.Sprintf("events of %s tell %v", pod, reasons), func(context.Context) error {
		got := told(t, pod)
		for _, r := range reasons {
			if !slices.Contains(got, r) {
				return fmt.Errorf("%s is missing in %v", r, got)
			}
		}
		return nil
	})
}

// findingsOf are what the NodePartition has against a pod.
func findingsOf(s api.NodePartitionStatus, pod string) (reasons []string) {
	for _, sl := range s.Slices {
		if sl.Holder == nil || sl.Holder.Pod != pod || sl.Share == nil {
			continue
		}
		for _, f := range sl.Share.Findings {
			reasons = append(reasons, f.Reason)
		}
	}
	return reasons
}

// TestMemoryOnLoanIsTakenBackStepByStep lends an idle half's memory, lets its
// owner come, and the owner go again.
func TestMemoryOnLoanIsTakenBackStepByStep(t *testing.T) {
	half := lending(t)
	start(t, hungry("borrower", "burst", 2*half*4/5)) // four times its guarantee
	attached(t, "borrower")
	now, _, err := shares(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if b := now["borrower"]; b.MemoryBytes <= 2*b.MemoryGuaranteedBytes || b.MemoryLimitBytes < b.MemoryBytes {
		t.Fatalf("the borrower has %d MiB of %d MiB, its guarantee is %d MiB: nothing is on loan", b.MemoryBytes>>20, b.MemoryLimitBytes>>20, b.MemoryGuaranteedBytes>>20)
	}
	container := running(t, "borrower").Status.ContainerStatuses[0].ContainerID

	owner := start(t, hungry("owner", "half", half-2048))
	since := time.Now()
	attached(t, "owner")
	t.Logf("the owner works %s after its pod was created", time.Since(since).Round(time.Millisecond))
	awaitTold(t, "borrower", "BorrowedMemoryRefused", "BorrowedMemoryTrimmed", "BorrowedMemoryDemoted", "BorrowerCheckpointed")
	eventually(t, time.Minute, "the NodePartition says what is done", func(ctx context.Context) error {
		s, err := partition(ctx)
		if err != nil {
			return err
		}
		if got := findingsOf(s, "borrower"); !slices.Contains(got, "BorrowerCheckpointed") {
			return fmt.Errorf("findings %v", got)
		}
		return nil
	})
	if now, _, err = shares(t.Context()); err != nil {
		t.Fatal(err)
	}
	if b := now["borrower"]; b.MemoryLimitBytes < b.MemoryGuaranteedBytes {
		t.Errorf("the borrower's limit is %d MiB, below its guarantee of %d MiB", b.MemoryLimitBytes>>20, b.MemoryGuaranteedBytes>>20)
	}
	eventually(t, 20*time.Second, "the owner has all of the time too", func(context.Context) error {
		if r := rates(t, time.Second); r["owner"].Used < 85 {
			return fmt.Errorf("%+v", r)
		}
		return nil
	})

	remove(t, owner)
	awaitTold(t, "borrower", "BorrowerRestored")
	launches := now["borrower"].Launches
	eventually(t, time.Minute, "the borrower works again", func(ctx context.Context) error {
		now, _, err := shares(ctx)
		if err == nil && now["borrower"].Launches <= launches {
			err = fmt.Errorf("%d launches, as before", launches)
		}
		return err
	})
	if after := running(t, "borrower").Status.ContainerStatuses[0].ContainerID; after != container {
		t.Errorf("the borrower's container was %s and is %s", container, after)
	}
	if slices.Contains(told(t, "owner"), "BorrowedMemoryRefused") {
		t.Error("the owner was asked for memory that is its own")
	}
	eventually(t, 2*time.Minute, "nothing is left of it in the NodePartition", func(ctx context.Context) error {
		s, err := partition(ctx)
		if err == nil && len(findingsOf(s, "borrower")) > 0 {
			err = fmt.Errorf("findings %v", findingsOf(s, "borrower"))
		}
		return err
	})
}

// TestTheNodePartitionSaysWhatKeepsEachGPU asks for the fences: the limiter on each
// GPU that is shared, and none on the others.
func TestTheNodePartitionSaysWhatKeepsEachGPU(t *testing.T) {
	cut := map[string]bool{}
	eventually(t, 30*time.Second, "each shared GPU has its fences", func(ctx context.Context) error {
		s, err := partition(ctx)
		if err != nil {
			return err
		}
		for _, sl := range s.Slices {
			for _, uuid := range sl.GPUs {
				cut[uuid] = cut[uuid] || sl.BlockPercent > 0
			}
		}
		for _, g := range s.GPUs {
			if has := slices.Contains(g.Fences, api.FenceLimiter); has != cut[g.UUID] {
				return fmt.Errorf("GPU %d has fences %v, and that it is shared is %v", g.Index, g.Fences, cut[g.UUID])
			}
			if slices.Contains(g.Fences, api.FenceMPS) {
				return fmt.Errorf("GPU %d has fences %v, and nobody runs MPS", g.Index, g.Fences)
			}
		}
		return nil
	})
	if !slices.Contains(slices.Collect(maps.Values(cut)), true) {
		t.Error("no GPU is shared: the test has seen nothing")
	}
	out, err := command(mustAbs("../../bin/kubectl-aipub"), "nodes", nodeName)
	if err != nil || !strings.Contains(out, string(api.FenceLimiter)) {
		t.Errorf("kubectl aipub nodes does not tell: %v\n%s", err, out)
	}
}
