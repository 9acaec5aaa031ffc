// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "aipub.io/aipub/api/v1alpha1"
)

const notHome = "may write that node only"

// errAllowed is what a request that must be refused returns when it is not.
var errAllowed = errors.New("allowed")

// patchStatus sends a JSON patch of a Node's status.
func patchStatus(ctx context.Context, c client.Client, node, ops string) error {
	target := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node}}
	return c.Status().Patch(ctx, target, client.RawPatch(types.JSONPatchType, []byte("["+ops+"]")))
}

// testAgent tries what an agent in the wrong hands would try, and what it must
// be able to do.
func (s *server) testAgent(t *testing.T) {
	s.node(t, "home")
	s.node(t, "other")
	s.mustCreate(t, &api.NodePartition{ObjectMeta: metav1.ObjectMeta{Name: "other"}})
	s.awaitPolicies(t)
	t.Run("refused patches of node status", s.testRefusedPatches)
	t.Run("refused", s.testRefused)
	t.Run("allowed", s.testAllowed)
}

// awaitPolicies waits until the policies, which take effect a moment after they
// are created, are in force. Neither probe does harm before.
func (s *server) awaitPolicies(t *testing.T) {
	home, tries := s.agent(t, "home"), 0
	eventually(t, "the policies are in force", func(ctx context.Context) error {
		err := patchStatus(ctx, home, "other", `{"op": "replace", "path": "/status/capacity/cpu", "value": "8"}`)
		if err == nil || !strings.Contains(err.Error(), notHome) {
			return errors.Join(errAllowed, err)
		}
		tries++
		err = patchStatus(ctx, home, "home", fmt.Sprintf(`{"op": "add", "path": "/metadata/labels/probe", "value": "%d"}`, tries))
		if err == nil || !strings.Contains(err.Error(), "metadata.labels") {
			return errors.Join(errAllowed, err)
		}
		return nil
	})
}

func (s *server) testRefusedPatches(t *testing.T) {
	const nothingElse = "add, raise or change nothing else there"
	const removeSet = `{"op": "remove", "path": "/status/capacity/aipub.io~1set-small"}`
	for name, tc := range map[string]struct{ agentOn, node, ops, want string }{
		"another node":                      {"home", "other", removeSet, notHome},
		"a token that names no node":        {"", "home", removeSet, "must use the token of its pod"},
		"another plugin's resource removed": {"home", "home", `{"op": "remove", "path": "/status/capacity/example.com~1other"}`, "take nothing but aipub.io/set-"},
		"a resource raised":                 {"home", "home", `{"op": "replace", "path": "/status/allocatable/cpu", "value": "800"}`, nothingElse},
		"a set raised":                      {"home", "home", `{"op": "replace", "path": "/status/allocatable/aipub.io~1set-medium", "value": "10"}`, nothingElse},
		"another resource lowered":          {"home", "home", `{"op": "replace", "path": "/status/allocatable/example.com~1other", "value": "2"}`, nothingElse},
		"a set invented as allocatable":     {"home", "home", `{"op": "add", "path": "/status/allocatable/aipub.io~1set-big", "value": "0"}`, nothingElse},
		"a set's capacity lowered":          {"home", "home", `{"op": "replace", "path": "/status/capacity/aipub.io~1set-medium", "value": "4"}`, "add or change nothing there"},
		"a set lowered on another node":     {"home", "other", `{"op": "replace", "path": "/status/allocatable/aipub.io~1set-medium", "value": "4"}`, notHome},
		"a resource invented":               {"home", "home", `{"op": "add", "path": "/status/capacity/aipub.io~1set-big", "value": "9"}`, "add or change nothing there"},
		"a condition changed":               {"home", "home", `{"op": "replace", "path": "/status/conditions/0/status", "value": "False"}`, "status.conditions"},
		"an address changed":                {"home", "home", `{"op": "replace", "path": "/status/addresses/0/address", "value": "evil"}`, "status.addresses"},
		"a label added":                     {"home", "home", `{"op": "add", "path": "/metadata/labels/a", "value": "b"}`, "metadata.labels"},
	} {
		t.Run(name, func(t *testing.T) {
			expectRefusal(t, patchStatus(t.Context(), s.agent(t, tc.agentOn), tc.node, tc.ops), tc.want)
		})
	}
}

func (s *server) testRefused(t *testing.T) {
	home := s.agent(t, "home")
	var other api.NodePartition
	if err := s.admin.Get(t.Context(), client.ObjectKey{Name: "other"}, &other); err != nil {
		t.Fatal(err)
	}
	other.Status.Policy = "mine"
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "home"}}
	cordon := client.RawPatch(types.MergePatchType, []byte(`{"spec": {"unschedulable": true}}`))

	expectRefusal(t, home.Create(t.Context(), &api.NodePartition{ObjectMeta: metav1.ObjectMeta{Name: "third"}}), notHome)
	expectRefusal(t, home.Status().Update(t.Context(), &other), notHome)
	expectRefusal(t, home.Patch(t.Context(), node, cordon), "forbidden")
	expectRefusal(t, home.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "aipub-webhook-cert"}, &corev1.Secret{}), "forbidden")
}

func (s *server) testAllowed(t *testing.T) {
	home := s.agent(t, "home")
	np := &api.NodePartition{ObjectMeta: metav1.ObjectMeta{Name: "home"}}
	for _, step := range []struct {
		name string
		do   func() error
	}{
		{"remove an idle set of its own", func() error {
			return patchStatus(t.Context(), home, "home", `{"op": "remove", "path": "/status/capacity/aipub.io~1set-small"}, {"op": "remove", "path": "/status/allocatable/aipub.io~1set-small"}`)
		}},
		{"lower a set of its own", func() error {
			return patchStatus(t.Context(), home, "home", `{"op": "test", "path": "/status/allocatable/aipub.io~1set-medium", "value": "9"}, {"op": "replace", "path": "/status/allocatable/aipub.io~1set-medium", "value": "4"}`)
		}},
		{"create its own partition", func() error { return home.Create(t.Context(), np) }},
		{"write its own partition", func() error {
			np.Status.Policy = "gpu"
			return home.Status().Update(t.Context(), np)
		}},
		{"read policies", func() error { return home.List(t.Context(), &api.PartitionPolicyList{}) }},
		{"list pods", func() error { return home.List(t.Context(), &corev1.PodList{}) }},
		{"anybody else's writes are not our concern", func() error {
			return patchStatus(t.Context(), s.admin, "other", `{"op": "replace", "path": "/status/allocatable/cpu", "value": "7"}`)
		}},
	} {
		if err := step.do(); err != nil {
			t.Errorf("%s: %v", step.name, err)
		}
	}
}

func expectRefusal(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("want a refusal with %q, got %v", want, err)
	}
}
