//go:build e2e

// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "aipub.io/aipub/api/v1alpha1"
)

// otherPool is the pool, and the name, of a second node that exists only in the
// API: it has what the real node has, but no kubelet.
const otherPool = "other"

func otherNode(t *testing.T) {
	t.Helper()
	ctx := t.Context()
	var real corev1.Node
	if err := shared.Get(ctx, client.ObjectKey{Name: nodeName}, &real); err != nil {
		t.Fatal(err)
	}
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: otherPool, Labels: map[string]string{"aipub.io/pool": otherPool}}}
	if err := shared.Create(ctx, n); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { mustKubectl(t, "delete", "node", otherPool) })
	before := n.DeepCopy() // a patch: the node controllers write as well
	n.Status.Capacity, n.Status.Allocatable = real.Status.Capacity, real.Status.Allocatable
	if err := shared.Status().Patch(ctx, n, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
	status, err := partition(ctx)
	if err != nil {
		t.Fatal(err)
	}
	np := &api.NodePartition{ObjectMeta: metav1.ObjectMeta{Name: otherPool, OwnerReferences: []metav1.OwnerReference{{
		APIVersion: "v1", Kind: "Node", Name: otherPool, UID: n.UID,
	}}}}
	if err := shared.Create(ctx, np); err != nil {
		t.Fatal(err)
	}
	empty := np.DeepCopy()
	np.Status = status
	if err := shared.Status().Patch(ctx, np, client.MergeFrom(empty)); err != nil {
		t.Fatal(err)
	}
}

func TestWhatCannotBeIsRefusedWithASentence(t *testing.T) {
	const podHead = `apiVersion: v1
kind: Pod
metadata: {name: refused, namespace: e2e}
spec:
  containers:
  - name: main
    image: aipub.test/busybox:1
    resources:
`
	policy := func(name, sets string) string {
		return "apiVersion: aipub.io/v1alpha1\nkind: PartitionPolicy\nmetadata: {name: " + name + "}\nspec:\n" +
			"  nodeSelector: {matchLabels: {aipub.io/pool: " + otherPool + "}}\n" + sets
	}
	otherNode(t)
	cases := map[string]struct {
		manifest string
		want     []string // all of these stand in the refusal
	}{
		"two different sets in one container": {
			podHead + `      limits: {aipub.io/set-small: "1", aipub.io/set-medium: "1"}`,
			[]string{"spec.containers[0].resources.limits", "set-small", "set-medium", "keep one of them"},
		},
		"a CPU above the set": {
			podHead + `      limits: {aipub.io/set-small: "1", cpu: "31"}`,
			[]string{"spec.containers[0].resources.limits[cpu]", "31", "small"},
		},
		"a memory above the set": {
			podHead + `      limits: {aipub.io/set-small: "1", memory: 250Gi}`,
			[]string{"spec.containers[0].resources.limits[memory]", "250Gi", "small"},
		},
		"a fractional count": {
			podHead + `      limits: {aipub.io/set-small: "0.5"}`,
			[]string{"spec.containers[0].resources.limits[aipub.io/set-small]", "500m", "whole"},
		},
		"an unknown set names the known ones": {
			podHead + `      limits: {aipub.io/set-smal: "1"}`,
			[]string{"aipub.io/set-smal", "small", "medium", "large"},
		},
		"a policy whose sets cannot fit the node": {
			policy("too-big", "  sets: [{name: huge, cpu: \"500\", memory: 4Ti, gpu: {count: 1}}]"),
			[]string{"spec.sets[0].cpu", "500", otherPool},
		},
		"conflicting definitions of one name": {
			policy("conflict", "  gpus: [{indices: [0], mode: Block}]\n  sets: [{name: small, gpu: {blockPercent: 10}}]"),
			[]string{"spec.sets[0].name", "small", "demo", "conflict"},
		},
		"a second policy for the same node": {
			strings.Replace(policy("second", "  sets: [{name: x, gpu: {count: 1}}]"), otherPool, "demo", 1),
			[]string{"spec.nodeSelector", "second", "demo", nodeName},
		},
		"a set with two GPU parts": {
			policy("two-parts", "  sets: [{name: x, gpu: {count: 1, blockPercent: 25}}]"),
			[]string{"spec.sets[0].gpu", "exactly one of count, blockPercent and mig"},
		},
		"a selector that would take the whole cluster": {
			strings.Replace(policy("all", "  sets: [{name: x, gpu: {count: 1}}]"), "{matchLabels: {aipub.io/pool: "+otherPool+"}}", "{}", 1),
			[]string{"spec.nodeSelector", "at least one label"},
		},
		"an unknown field": {
			policy("typo", "  sets: [{name: x, gpu: {blockPercents: 25}}]"),
			[]string{"blockPercents"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "manifest.yaml")
			if err := os.WriteFile(file, []byte(tc.manifest), 0o600); err != nil {
				t.Fatal(err)
			}
			out, err := kubectl("create", "--validate=strict", "-f", file)
			if err == nil {
				_, _ = kubectl("delete", "-f", file, "--wait")
				t.Fatalf("it was accepted: %s", out)
			}
			t.Log(strings.TrimSpace(out))
			for _, want := range tc.want {
				if !strings.Contains(out, want) {
					t.Errorf("the refusal does not say %q:\n%s", want, out)
				}
			}
		})
	}
}

func TestNobodyElseIsTouched(t *testing.T) {
	p := pod("plain", "small")
	p.Namespace = unmanaged
	p.Spec.Containers[0].Resources.Limits = nil
	start(t, p)
	if got := p.Spec.Containers[0].Resources.Limits; len(got) != 0 {
		t.Errorf("a pod of an unmanaged namespace was given %v", got)
	}
}

func TestAnOutageOfTheControllerBlocksNobodyElse(t *testing.T) {
	mustKubectl(t, "-n", "aipub-system", "scale", "deployment", "aipub-controller", "--replicas=0")
	t.Cleanup(func() {
		mustKubectl(t, "-n", "aipub-system", "scale", "deployment", "aipub-controller", "--replicas=1")
		mustKubectl(t, "-n", "aipub-system", "rollout", "status", "deployment/aipub-controller", "--timeout=60s")
	})
	mustKubectl(t, "-n", "aipub-system", "wait", "pod", "-l", "app.kubernetes.io/component=controller", "--for=delete", "--timeout=60s")

	plain := pod("plain-managed", "small")
	plain.Spec.Containers[0].Resources.Limits = nil
	start(t, plain) // a managed namespace, but no set asked for

	p := pod("asks", "small")
	if err := shared.Create(t.Context(), p); err == nil {
		remove(t, p)
		t.Error("a pod that asks for a set was let in without being expanded")
	} else if !strings.Contains(err.Error(), "aipub") {
		t.Errorf("the refusal does not say whose webhook is down: %v", err)
	}
}
