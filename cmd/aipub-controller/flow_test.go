// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/partitioner/kube"
	"aipub.io/aipub/quota/admission"
)

// TestOnARealAPIServer follows the flow on one kube-apiserver, since starting
// one takes seconds. The parts build on each other, in order.
func TestOnARealAPIServer(t *testing.T) {
	c := startCluster(t)
	managed := map[string]string{v1alpha1.ProjectLabel: "vision"}
	c.mustCreate(t, namespace("team", managed))
	c.mustCreate(t, namespace("plain", nil))
	for _, part := range []struct {
		name string
		run  func(*testing.T, *cluster)
	}{
		{"the schema refuses what no policy can mean", testSchema},
		{"a policy becomes ResourceSets", testPolicyToSets},
		{"policies that cannot work are refused", testPolicyRefusals},
		{"pods get what belongs to their sets", testPodExpansion},
		{"pods that contradict their sets are refused", testPodRefusals},
		{"a running pod's set cannot be changed", testRunningPods},
		{"a lost certificate comes back", testLostCertificate},
		{"sets go when nobody defines or holds them", testSetsGo},
		{"an outage blocks set pods and nothing else", testOutage},
		{"clean-up leaves no trace", testCleanup},
	} {
		if !t.Run(part.name, func(t *testing.T) { part.run(t, c) }) {
			return
		}
	}
}

const h200Policy = `
metadata: {name: h200}
spec:
  nodeSelector: {matchLabels: {aipub.io/pool: h200}}
  sets:
  - {name: large, gpu: {count: 1}}
  - {name: cpu, cpu: "2", memory: 8Gi, perNode: 4}
`

func testSchema(t *testing.T, c *cluster) {
	cases := map[string]struct{ change, sentence string }{
		"empty selector":         {"spec: {nodeSelector: {}, sets: [{name: a, gpu: {count: 1}}]}", "nodeSelector must name at least one label"},
		"no sets":                {"spec: {nodeSelector: {matchLabels: {a: b}}, sets: []}", "spec.sets"},
		"two GPU parts":          {"spec: {nodeSelector: {matchLabels: {a: b}}, sets: [{name: a, gpu: {count: 1, blockPercent: 5}}]}", "give exactly one of count, blockPercent and mig"},
		"no size at all":         {"spec: {nodeSelector: {matchLabels: {a: b}}, sets: [{name: a, cpu: '1'}]}", "a set without gpu must give both cpu and memory"},
		"share above the GPU":    {"spec: {nodeSelector: {matchLabels: {a: b}}, sets: [{name: a, gpu: {blockPercent: 101}}]}", "less than or equal to 100"},
		"unspeakable name":       {"spec: {nodeSelector: {matchLabels: {a: b}}, sets: [{name: A_b, gpu: {count: 1}}]}", "spec.sets[0].name"},
		"sharing of a whole GPU": {"spec: {nodeSelector: {matchLabels: {a: b}}, sets: [{name: a, gpu: {count: 1}, sharing: {lend: true}}]}", "sharing belongs to block sets"},
		"layout without MIG":     {"spec: {nodeSelector: {matchLabels: {a: b}}, gpus: [{mode: Block, layout: [{set: a, count: 1}]}], sets: [{name: a, gpu: {blockPercent: 5}}]}", "layout belongs to mode MIG"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			policy := convert[v1alpha1.PartitionPolicy](t, "metadata: {name: bad}\n"+tc.change)
			requireRefused(t, c.Create(t.Context(), policy), tc.sentence)
		})
	}
}

// addNode makes a ready node with 64 CPUs and 512Gi, and its agent's report of
// some whole GPUs.
func (c *cluster) addNode(t *testing.T, name, pool string, gpus int) {
	t.Helper()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"aipub.io/pool": pool}}}
	c.mustCreate(t, node)
	node.Status.Allocatable = corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("64"), corev1.ResourceMemory: resource.MustParse("512Gi"),
		"aipub.io/set-cpu": resource.MustParse("4"), "aipub.io/set-large": resource.MustParse("2"),
	}
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	if err := c.Status().Update(t.Context(), node); err != nil {
		t.Fatal(err)
	}
	np := &v1alpha1.NodePartition{ObjectMeta: metav1.ObjectMeta{Name: name}}
	c.mustCreate(t, np)
	c.report(t, name, func(status *v1alpha1.NodePartitionStatus) {
		status.AgentVersion = "test"
		status.Models = []v1alpha1.GPUModel{{Name: "NVIDIA H200", Memory: resource.MustParse("141Gi")}}
		for i := range gpus {
			status.GPUs = append(status.GPUs, v1alpha1.NodeGPU{
				Index: int32(i), UUID: fmt.Sprintf("GPU-%s-%d", name, i), Model: "NVIDIA H200", Health: v1alpha1.Health{OK: true}})
		}
	})
}

// report changes what a node's agent says.
func (c *cluster) report(t *testing.T, node string, change func(*v1alpha1.NodePartitionStatus)) {
	t.Helper()
	var np v1alpha1.NodePartition
	if err := c.Get(t.Context(), client.ObjectKey{Name: node}, &np); err != nil {
		t.Fatal(err)
	}
	change(&np.Status)
	if err := c.Status().Update(t.Context(), &np); err != nil {
		t.Fatal(err)
	}
}

// sets reads all ResourceSets as "name: cpu memory total/free/held".
func (c *cluster) sets(t *testing.T) []string {
	t.Helper()
	var list v1alpha1.ResourceSetList
	if err := c.List(t.Context(), &list); err != nil {
		t.Fatal(err)
	}
	out := []string{}
	for _, s := range list.Items {
		out = append(out, fmt.Sprintf("%s: %s %s %d/%d/%d", s.Name, s.Spec.CPU.String(), s.Spec.Memory.String(), s.Status.Total, s.Status.Free, s.Status.Held))
	}
	return out
}

func (c *cluster) expectSets(t *testing.T, want ...string) {
	t.Helper()
	eventually(t, "resource sets", func() error {
		if diff := cmp.Diff(append([]string{}, want...), c.sets(t)); diff != "" {
			return fmt.Errorf("(-want +got):\n%s", diff)
		}
		return nil
	})
}

// expectPolicy waits until a policy's Ready condition is of a status and reason.
func (c *cluster) expectPolicy(t *testing.T, name, want string) {
	t.Helper()
	eventually(t, "policy "+name, func() error {
		var policy v1alpha1.PartitionPolicy
		if err := c.Get(t.Context(), client.ObjectKey{Name: name}, &policy); err != nil {
			return err
		}
		ready := meta.FindStatusCondition(policy.Status.Conditions, v1alpha1.ConditionReady)
		if ready == nil || string(ready.Status)+" "+ready.Reason != want {
			return fmt.Errorf("condition %v, want %s", ready, want)
		}
		return nil
	})
}

func testPolicyToSets(t *testing.T, c *cluster) {
	c.mustCreate(t, convert[v1alpha1.PartitionPolicy](t, h200Policy))
	if warnings := c.warnings.take(); !strings.Contains(warnings, "no node matches aipub.io/pool=h200") {
		t.Errorf("warnings %q, want that no node matches", warnings)
	}
	c.expectPolicy(t, "h200", "False NoNodes")
	c.addNode(t, "n1", "h200", 2)
	c.expectPolicy(t, "h200", "False Pending")
	c.expectSets(t, "cpu: 2 8Gi 0/0/0", "large: 28 240Gi 0/0/0")
	c.report(t, "n1", func(status *v1alpha1.NodePartitionStatus) {
		status.Policy, status.PolicyGeneration = "h200", 1
		status.Sets = []v1alpha1.SetOnNode{{Name: "cpu", Total: 4, Free: 4}, {Name: "large", Total: 2, Free: 1, Held: 1}}
		status.Slices = []v1alpha1.NodeSlice{{ID: "s", Set: "large", State: "Held", Since: metav1.Now(),
			Holder: &v1alpha1.Holder{Namespace: "team", Pod: "train", Container: "app"}}}
		meta.SetStatusCondition(&status.Conditions, metav1.Condition{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonApplied})
	})
	c.expectPolicy(t, "h200", "True Applied")
	c.expectSets(t, "cpu: 2 8Gi 4/4/0", "large: 28 240Gi 2/1/1")
	eventually(t, "event", func() error {
		var events corev1.EventList
		if err := c.List(t.Context(), &events); err != nil {
			return err
		}
		for _, e := range events.Items {
			if e.InvolvedObject.Name == "h200" && e.Reason == v1alpha1.ReasonApplied {
				return nil
			}
		}
		return fmt.Errorf("no event of policy h200 among %d", len(events.Items))
	})
}

func testPolicyRefusals(t *testing.T, c *cluster) {
	cases := map[string]struct {
		policy string
		parts  []string
	}{
		"sets that cannot fit": {"metadata: {name: x}\nspec: {nodeSelector: {matchLabels: {aipub.io/pool: b200}}, sets: [{name: huge, gpu: {count: 4}}]}",
			[]string{"spec.sets[0].gpu.count", "node b1", "at most 2"}},
		"a node of an older policy": {"metadata: {name: x}\nspec: {nodeSelector: {matchLabels: {aipub.io/pool: h200}}, sets: [{name: other, gpu: {count: 1}}]}",
			[]string{"spec.nodeSelector", `"h200"`, `"n1"`}},
		"a set of another size": {"metadata: {name: x}\nspec: {nodeSelector: {matchLabels: {aipub.io/pool: b200}}, sets: [{name: large, gpu: {count: 2}}]}",
			[]string{"spec.sets[0].name", `"large"`, "rename"}},
	}
	c.addNode(t, "b1", "b200", 2)
	for name, tc := range cases {
		for how, options := range map[string][]client.CreateOption{"": nil, ", dry run": {client.DryRunAll}} {
			t.Run(name+how, func(t *testing.T) {
				eventually(t, "the webhook's cache", func() error {
					err := c.Create(t.Context(), convert[v1alpha1.PartitionPolicy](t, tc.policy), append(options, client.DryRunAll)...)
					if err == nil {
						return fmt.Errorf("accepted")
					}
					return nil
				})
				requireRefused(t, c.Create(t.Context(), convert[v1alpha1.PartitionPolicy](t, tc.policy), options...), tc.parts...)
			})
		}
	}
	t.Run("growing beyond the nodes", func(t *testing.T) {
		var policy v1alpha1.PartitionPolicy
		if err := c.Get(t.Context(), client.ObjectKey{Name: "h200"}, &policy); err != nil {
			t.Fatal(err)
		}
		large := int32(16)
		policy.Spec.Sets[0].GPU.Count = &large
		requireRefused(t, c.Update(t.Context(), &policy), "spec.sets[0].gpu.count")
	})
}

// The chart gives no right to create Secrets, since it makes this one; who deletes
// it and wants the controller to make it anew has to.
func testLostCertificate(t *testing.T, c *cluster) {
	c.grant(t, "secret-maker", rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"create"}},
		user("system:serviceaccount:aipub-system:aipub-controller"))
	key := metav1.ObjectMeta{Namespace: "aipub-system", Name: "aipub-webhook-cert"}
	if err := c.Delete(t.Context(), &corev1.Secret{ObjectMeta: key}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the secret", func() error {
		return c.Get(t.Context(), client.ObjectKey{Namespace: key.Namespace, Name: key.Name}, &corev1.Secret{})
	})
	eventually(t, "a pod", func() error { return c.Create(t.Context(), setPod("team", "certified", "large=1")) })
}

func testSetsGo(t *testing.T, c *cluster) {
	if err := c.Delete(t.Context(), &v1alpha1.PartitionPolicy{ObjectMeta: metav1.ObjectMeta{Name: "h200"}}); err != nil {
		t.Fatal(err)
	}
	c.expectSets(t, "large: 28 240Gi 2/1/1")
	eventually(t, "refusal of the retired set", func() error {
		err := c.Create(t.Context(), setPod("team", "late", "large=1"), client.DryRunAll)
		if err == nil || !strings.Contains(err.Error(), "no PartitionPolicy defines set large any more") {
			return fmt.Errorf("got %w", err)
		}
		return nil
	})
	c.report(t, "n1", func(status *v1alpha1.NodePartitionStatus) { status.Sets, status.Slices = nil, nil })
	c.expectSets(t)
	if err := c.Delete(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "removal of the node's partition", func() error {
		err := c.Get(t.Context(), client.ObjectKey{Name: "n1"}, &v1alpha1.NodePartition{})
		if !apierrors.IsNotFound(err) {
			return fmt.Errorf("got %w", err)
		}
		return nil
	})
}

func testOutage(t *testing.T, c *cluster) {
	c.stop()
	requireRefused(t, c.Create(t.Context(), setPod("team", "during", "large=1")), "pods.sets.aipub.io")
	for name, pod := range map[string]*corev1.Pod{
		"a set pod in an unmanaged namespace":   setPod("plain", "during", "large=1"),
		"an ordinary pod in an unmanaged one":   setPod("plain", "ordinary", ""),
		"an ordinary pod in a managed one":      setPod("team", "ordinary", ""),
		"a pod of the system, labelled or not":  setPod(metav1.NamespaceSystem, "system", "large=1"),
		"a pod of ours, so that we can restart": setPod("aipub-system", "own", "large=1"),
	} {
		t.Run(name, func(t *testing.T) {
			if pod.Namespace == metav1.NamespaceSystem || pod.Namespace == "aipub-system" {
				var ns corev1.Namespace
				if err := c.Get(t.Context(), client.ObjectKey{Name: pod.Namespace}, &ns); err != nil {
					t.Fatal(err)
				}
				ns.Labels[v1alpha1.ProjectLabel] = "mistake"
				if err := c.Update(t.Context(), &ns); err != nil {
					t.Fatal(err)
				}
			}
			if err := c.Create(t.Context(), pod); err != nil {
				t.Errorf("blocked: %v", err)
			}
		})
	}
}

func testCleanup(t *testing.T, c *cluster) {
	for name, ready := range map[string]corev1.ConditionStatus{"let-go": corev1.ConditionTrue, "dead": corev1.ConditionUnknown} {
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
		c.mustCreate(t, node)
		left := resource.MustParse("0")
		if name == "dead" {
			left = resource.MustParse("4")
		}
		node.Status.Capacity = corev1.ResourceList{"aipub.io/set-large": left, corev1.ResourceCPU: resource.MustParse("4")}
		node.Status.Allocatable = node.Status.Capacity.DeepCopy()
		node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: ready}}
		if err := c.Status().Update(t.Context(), node); err != nil {
			t.Fatal(err)
		}
	}
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: leaseName}}
	c.mustCreate(t, lease)
	c.deletePolicies(t)
	var progress bytes.Buffer
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	err := kube.NewCleaner(c, kube.CleanupConfig{
		WebhookConfiguration: admission.ConfigurationName, Lease: client.ObjectKeyFromObject(lease), Progress: &progress,
		Interval: 10 * time.Millisecond, Settle: 50 * time.Millisecond,
	}).Run(ctx)
	if err != nil {
		t.Fatalf("clean up: %v\n%s", err, &progress)
	}
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(lease), lease); !apierrors.IsNotFound(err) {
		t.Errorf("the Lease is still there: %v", err)
	}
	for _, name := range []string{"let-go", "dead"} {
		var node corev1.Node
		if err := c.Get(t.Context(), client.ObjectKey{Name: name}, &node); err != nil {
			t.Fatal(err)
		}
		if len(node.Status.Capacity) != 1 || len(node.Status.Allocatable) != 1 {
			t.Errorf("node %s still has capacity %v, allocatable %v", name, node.Status.Capacity, node.Status.Allocatable)
		}
	}
	// The API server forgets policies a moment after they are gone.
	eventually(t, "a pod that no webhook and no policy holds up", func() error {
		return c.Create(t.Context(), setPod("team", "afterwards", "large=1"))
	})
}
