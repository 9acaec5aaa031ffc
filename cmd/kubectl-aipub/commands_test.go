// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/gpu"
)

// longWorld has names that are as long as Kubernetes allows, GPUs of unknown
// locality, and a GPU that the node no longer lists.
func longWorld(t *testing.T) *world {
	t.Helper()
	w := &world{}
	name := strings.Repeat("gpu-worker-", 5) + "eu-west-1"
	w.addNode(name, pool, cards(name, 1, "NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition", false))
	p := policyOf(t, "policy.yaml")
	p.Name = "all-of-the-graphics-workstations-of-the-company"
	p.Spec.GPUs = nil
	whole := int32(1)
	p.Spec.Sets = []api.SetTemplate{{Name: strings.Repeat("a", 40), GPU: &api.SetGPU{Count: &whole}}}
	w.apply(t, p)
	set := p.Spec.Sets[0].Name
	w.hold(name, set, 0, api.Holder{Namespace: strings.Repeat("n", 63), Pod: strings.Repeat("p", 80), Container: "main"})
	w.mark(name, set, 0, func(s *api.NodeSlice) { s.GPUs = append(s.GPUs, "GPU-gone") })
	w.settle()
	return w
}

// retiredWorld has a slice that is held although the policy no longer has it.
func retiredWorld(t *testing.T) *world {
	t.Helper()
	w := busyWorld(t)
	w.mark("gpu-01", "small", 0, func(s *api.NodeSlice) {
		s.State, s.Reason, s.Message = api.SliceState(gpu.StateRetired), "Retired", "the policy no longer has it; it goes when its holder ends"
	})
	np := w.partition("gpu-01")
	np.Status.GPUs[1].Mode, np.Status.GPUs[1].MIGPending = api.GPUMIG, true
	w.settle()
	return w
}

func TestScreens(t *testing.T) {
	for name, tc := range map[string]struct {
		world func(*testing.T) *world
		args  string
	}{
		"nodes":              {busyWorld, "nodes"},
		"nodes-wide":         {busyWorld, "nodes -o wide"},
		"nodes-one":          {busyWorld, "nodes gpu-01"},
		"nodes-silent":       {busyWorld, "nodes gpu-03 web-01"},
		"nodes-unknown":      {busyWorld, "nodes gpu-1"},
		"nodes-name":         {busyWorld, "nodes -o name"},
		"nodes-no-headers":   {busyWorld, "nodes gpu-02 --no-headers -o table"},
		"nodes-long":         {longWorld, "nodes"},
		"nodes-long-one":     {longWorld, "nodes -o wide"},
		"nodes-retired":      {retiredWorld, "nodes"},
		"nodes-empty":        {func(*testing.T) *world { w := &world{}; w.addSilentNode("web-01", nil); return w }, "nodes"},
		"sets":               {busyWorld, "sets"},
		"sets-wide":          {busyWorld, "sets -o wide"},
		"sets-one":           {busyWorld, "sets aipub.io/set-small cpu"},
		"sets-unknown":       {busyWorld, "sets smal"},
		"sets-unknown-long":  {busyWorld, "sets aipub.io/SET-Smal"},
		"sets-long":          {longWorld, "sets"},
		"sets-refused":       {refusedWorld, "sets"},
		"sets-refused-one":   {refusedWorld, "sets huge"},
		"sets-empty":         {func(*testing.T) *world { w := &world{}; w.addSilentNode("web-01", nil); return w }, "sets"},
		"plan-in-force":      {busyWorld, "plan h200"},
		"plan-changed":       {busyWorld, "plan -f testdata/changed.yaml --dry-run"},
		"plan-changed-json":  {busyWorld, "plan -f testdata/changed.yaml --dry-run -o json"},
		"plan-wide":          {longWorld, "plan all-of-the-graphics-workstations-of-the-company -o wide"},
		"plan-unknown":       {busyWorld, "plan h100"},
		"plan-nothing":       {busyWorld, "plan"},
		"plan-bad-shape":     {busyWorld, "plan -f testdata/bad-shape.yaml"},
		"plan-bad-meaning":   {busyWorld, "plan -f testdata/bad-meaning.yaml"},
		"plan-two":           {busyWorld, "plan -f testdata/two.yaml"},
		"plan-two-one":       {busyWorld, "plan -f testdata/two.yaml a100"},
		"plan-first":         {freshWorld, "plan -f testdata/policy.yaml"},
		"plan-both-stdin":    {busyWorld, "plan -f -"},
		"unknown-command":    {busyWorld, "node-s"},
		"unknown-flag":       {busyWorld, "nodes --outptu json"},
		"unknown-format":     {busyWorld, "sets -o jsn"},
		"plan-format":        {busyWorld, "plan h200 -o name"},
		"version-with-words": {busyWorld, "version please"},
	} {
		t.Run(name, func(t *testing.T) {
			golden(t, name, tc.world(t).kubectl(t, strings.Fields(tc.args)...))
		})
	}
}

// freshWorld is a cluster before its first policy.
func freshWorld(t *testing.T) *world {
	t.Helper()
	w := &world{}
	for _, n := range []string{"gpu-01", "gpu-02"} {
		w.addNode(n, pool, cards(n, 4, "NVIDIA H200", true))
	}
	return w
}

// refusedWorld has a policy with a set that fits nowhere, and a set that no
// policy has any more but a pod holds.
func refusedWorld(t *testing.T) *world {
	t.Helper()
	w := freshWorld(t)
	w.apply(t, policyOf(t, "policy.yaml"))
	w.hold("gpu-01", "large", 0, api.Holder{Namespace: "vision", Pod: "train-0", Container: "main"})
	p := &w.policies.Items[0]
	four := int32(4)
	p.Spec.Sets[4] = api.SetTemplate{Name: "huge", GPU: &api.SetGPU{Count: &four}}
	p.Generation = 2
	w.settle()
	return w
}

func TestObjectsArePrintedAsKubectlGetDoes(t *testing.T) {
	w := busyWorld(t)
	for name, tc := range map[string]struct{ args, want string }{
		"one node":             {"nodes gpu-01 -o jsonpath={.kind}/{.metadata.name}", "NodePartition/gpu-01"},
		"all nodes":            {"nodes -o jsonpath={.kind}:{.items[*].metadata.name}", "NodePartitionList:gpu-01 gpu-02"},
		"one set":              {"sets small -o jsonpath={.apiVersion}:{.spec.resourceName}", "aipub.io/v1alpha1:aipub.io/set-small"},
		"items have kinds":     {"sets -o jsonpath={.items[0].kind}", "ResourceSet"},
		"set- and capitals":    {"sets set-Small -o jsonpath={.metadata.name}", "small"},
		"resource in capitals": {"sets AIPub.io/Set-Small -o jsonpath={.metadata.name}", "small"},
		"template":             {"sets small --template={{.metadata.name}}", "small"},
	} {
		t.Run(name, func(t *testing.T) {
			_, got, _ := strings.Cut(w.kubectl(t, strings.Fields(tc.args)...), "\n")
			if !strings.Contains(got, tc.want) {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestJudge(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*world)
		want   string
	}{
		"all is well":               {func(*world) {}, "Ready"},
		"the node is gone":          {func(w *world) { w.nodes.Items = w.nodes.Items[1:] }, reasonNodeGone},
		"the node has booted since": {func(w *world) { w.node("gpu-01").Status.NodeInfo.BootID = "boot-2" }, reasonRebooted},
		"the boot IDs differ, but the agent has reported since": {func(w *world) {
			w.node("gpu-01").Status.NodeInfo.BootID = "boot-2"
			since := metav1.NewTime(made.Add(time.Minute))
			w.partition("gpu-01").ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "aipub-node", Time: &since}}
		}, "Ready"},
		"the kubelet is silent":  {func(w *world) { w.node("gpu-01").Status.Conditions[0].Status = "Unknown" }, reasonNodeDown},
		"the agent has not said": {func(w *world) { w.partition("gpu-01").Status.Conditions = nil }, reasonUnknown},
		"the agent says no": {func(w *world) {
			w.partition("gpu-01").Status.Conditions[0].Status = metav1.ConditionFalse
			w.partition("gpu-01").Status.Conditions[0].Reason = api.ReasonHardware
		}, api.ReasonHardware},
		"the node is cordoned": {func(w *world) { w.node("gpu-01").Spec.Unschedulable = true }, reasonCordoned},
		"the agent is behind":  {func(w *world) { w.policies.Items[0].Generation = 7 }, reasonBehind},
		"the kubelet has lost the plugin": {func(w *world) {
			delete(w.node("gpu-01").Status.Allocatable, "aipub.io/set-small")
		}, reasonNotOffered},
	} {
		t.Run(name, func(t *testing.T) {
			w := freshWorld(t)
			w.apply(t, policyOf(t, "policy.yaml"))
			tc.change(w)
			v := nodeViews(w.facts)[0]
			if got := v.verdict.word(); got != tc.want {
				t.Errorf("got %s (%s), want %s", got, v.verdict.sentence, tc.want)
			}
			if v.verdict.ready != (v.verdict.sentence == "") {
				t.Errorf("ready is %v, but the sentence is %q", v.verdict.ready, v.verdict.sentence)
			}
		})
	}
}

func TestNodesThatCannotBeReadAreNotSaidToBeGone(t *testing.T) {
	w := freshWorld(t)
	w.apply(t, policyOf(t, "policy.yaml"))
	w.nodes.Items = nil
	if v := nodeViews(w.facts)[0]; !v.verdict.ready {
		t.Errorf("got %s: %s", v.verdict.reason, v.verdict.sentence)
	}
}
