// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"aipub.io/aipub/api/v1alpha1"
)

// stampChanges are what people must not change on alice's objects, herself
// included, with what the refusal says.
var stampChanges = map[string][]string{
	`{"metadata":{"annotations":{"aipub.io/user":"bob"}}}`:              {"metadata.annotations[aipub.io/user]", `"bob" instead of "alice"`, "verb assign"},
	`{"metadata":{"annotations":{"aipub.io/project":"nlp"}}}`:           {"metadata.annotations[aipub.io/project]", `"nlp" instead of "vision"`},
	`{"metadata":{"annotations":{"aipub.io/type":"Workspace"}}}`:        {"metadata.annotations[aipub.io/type]", `"Workspace" instead of`, "make a new workload"},
	`{"metadata":{"annotations":{"aipub.io/workload":"a/b/c/d"}}}`:      {"metadata.annotations[aipub.io/workload]"},
	`{"metadata":{"annotations":{"aipub.io/node":"n1"}}}`:               {"metadata.annotations[aipub.io/node]", "only AIPub's controller"},
	`{"metadata":{"annotations":{"aipub.io/opened":"Within"}}}`:         {"metadata.annotations[aipub.io/opened]", "only AIPub's controller"},
	`{"metadata":{"annotations":{"aipub.io/ranked-by":"lead"}}}`:        {"metadata.annotations[aipub.io/ranked-by]"},
	`{"metadata":{"annotations":{"aipub.io/rank":"a"}}}`:                {"metadata.annotations[aipub.io/rank]", "verb reorder on priorityqueues.aipub.io vision"},
	`{"metadata":{"annotations":{"aipub.io/promoted":"a"}}}`:            {"metadata.annotations[aipub.io/promoted]", "verb promote on priorityqueues.aipub.io (all of them)"},
	`{"metadata":{"annotations":{"aipub.io/user":"","a.example":"b"}}}`: {"metadata.annotations[aipub.io/user]", `"" instead of "alice"`},
}

func testStampsStay(t *testing.T, c *cluster) {
	web := deployment("web")
	c.reread(t, web)
	pod := setPod("team", "alices", "large=1")
	c.reread(t, pod)
	for patch, parts := range stampChanges {
		for _, who := range []string{"alice", "bob"} {
			for _, object := range []client.Object{web, pod} {
				t.Run(fmt.Sprintf("%s %T %s", who, object, patch), func(t *testing.T) {
					requireRefused(t, c.merge(t, who, object, patch), append(parts, "aipub-identity-update")...)
					status := c.as(t, who).Status().Patch(t.Context(), object.DeepCopyObject().(client.Object), client.RawPatch("application/merge-patch+json", []byte(patch)))
					requireRefused(t, status, parts...)
				})
			}
		}
	}
	t.Run("server-side apply", func(t *testing.T) {
		applied := fmt.Sprintf(`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web","namespace":"team","annotations":{%q:"bob"}}}`, v1alpha1.UserAnnotation)
		err := c.as(t, "bob").Patch(t.Context(), web.DeepCopy(), client.RawPatch("application/apply-patch+yaml", []byte(applied)), client.FieldOwner("bob"), client.ForceOwnership)
		requireRefused(t, err, `"bob" instead of "alice"`)
	})
	t.Run("what is left out comes back", func(t *testing.T) {
		bare := deployment("web")
		bare.ResourceVersion = web.ResourceVersion
		if err := c.as(t, "bob").Update(t.Context(), bare); err != nil {
			t.Fatal(err)
		}
		requireNotes(t, bare, charged("alice"))
		if err := c.merge(t, "alice", pod, `{"metadata":{"annotations":null,"labels":null}}`); err != nil {
			t.Fatal(err)
		}
		c.reread(t, pod)
		requireNotes(t, pod, charged("alice"))
		requireGated(t, pod)
	})
	requireRefused(t, c.merge(t, "alice", pod, `{"metadata":{"labels":{"aipub.io/set":"cpu"}}}`), "metadata.labels[aipub.io/set]", `"cpu" instead of "large"`)
	t.Run("through the pod's subresources", func(t *testing.T) {
		patch := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"annotations":{"aipub.io/user":"bob"},"labels":{"aipub.io/set":"cpu"}}}`))
		for _, subresource := range []string{"status", "resize", "ephemeralcontainers"} {
			// Some leave metadata alone; either way it stays.
			err := c.as(t, "bob").SubResource(subresource).Patch(t.Context(), pod.DeepCopy(), patch)
			if err != nil {
				requireRefused(t, err, "instead of")
			}
			c.reread(t, pod)
			requireNotes(t, pod, charged("alice"))
			requireGated(t, pod)
		}
	})
	t.Run("an assigner hands it over", func(t *testing.T) {
		if err := c.merge(t, "lead", web, `{"metadata":{"annotations":{"aipub.io/user":"bob"}}}`); err != nil {
			t.Fatal(err)
		}
		requireRefused(t, c.merge(t, "carer", web, `{"metadata":{"annotations":{"aipub.io/user":"erin"}}}`), `"erin" instead of "bob"`)
		if err := c.merge(t, "carer", web, `{"metadata":{"annotations":{"aipub.io/user":"alice"}}}`); err != nil {
			t.Fatal(err)
		}
	})
	t.Run("a Deployment that begins to ask is its author's", func(t *testing.T) {
		free := deployment("free")
		c.reread(t, free)
		free.Spec.Template = template()
		if err := c.as(t, "bob").Update(t.Context(), free); err != nil {
			t.Fatal(err)
		}
		requireNotes(t, free, charged("alice"))
	})
}

func testGates(t *testing.T, c *cluster) {
	open := []byte(`{"spec":{"schedulingGates":null}}`)
	pod := setPod("team", "alices", "large=1")
	requireRefused(t, c.merge(t, "alice", pod, string(open)), "spec.schedulingGates", "not by alice", "verb open on gates.aipub.io")
	requireRefused(t, c.merge(t, kubeSystem+"replicaset-controller", pod, string(open)), "spec.schedulingGates")
	// Other gates are their owners'.
	if err := c.merge(t, "alice", setPod("team", "other-gates", ""), `{"spec":{"schedulingGates":[{"name":"aipub.io/quota"}]}}`); err != nil {
		t.Errorf("alice opens her own gate: %v", err)
	}
	if err := c.merge(t, "doorman", setPod("team", "by-ci", ""), string(open)); err != nil {
		t.Errorf("the verb open does not open: %v", err)
	}
	by := "system:serviceaccount:aipub-system:aipub-controller"
	if err := c.merge(t, by, pod, `{"metadata":{"annotations":{"aipub.io/node":"n1","aipub.io/opened":"Within"}},"spec":{"schedulingGates":null}}`); err != nil {
		t.Errorf("the controller does not open: %v", err)
	}
	requireRefused(t, c.merge(t, "alice", pod, `{"metadata":{"annotations":{"aipub.io/opened":null}}}`), "metadata.annotations[aipub.io/opened]", `"" instead of "Within"`)

	c.reread(t, pod)
	requireNotes(t, pod, map[string]string{v1alpha1.NodeAnnotation: "n1", v1alpha1.UserAnnotation: "alice"})
	binding := note(&corev1.Binding{ObjectMeta: metav1.ObjectMeta{Name: "alices"}, Target: corev1.ObjectReference{Kind: "Node", Name: "n1"}}, v1alpha1.UserAnnotation, "bob")
	requireRefused(t, c.as(t, "bob").SubResource("binding").Create(t.Context(), pod, binding), "aipub-pods-bind", "leave them out")

	debug := note(pod.DeepCopy(), v1alpha1.UserAnnotation, "bob")
	debug.ResourceVersion = "" // whatever the controller says of the pod meanwhile
	debug.Spec.EphemeralContainers = []corev1.EphemeralContainer{{EphemeralContainerCommon: corev1.EphemeralContainerCommon{Name: "debug", Image: "example.com/debug"}}}
	// The subresource may leave metadata alone; either way, alice stays charged.
	if err := c.as(t, "bob").SubResource("ephemeralcontainers").Update(t.Context(), debug); err != nil {
		requireRefused(t, err, `"bob" instead of "alice"`)
	}
	c.reread(t, pod)
	requireNotes(t, pod, charged("alice"))
}

func testRanks(t *testing.T, c *cluster) {
	web := deployment("web")
	rank := func(who, notes string) error { return c.merge(t, who, web, `{"metadata":{"annotations":`+notes+`}}`) }
	requireRefused(t, rank("stranger", `{"aipub.io/rank":"a"}`), "verb reorder on priorityqueues.aipub.io vision")
	requireRefused(t, rank("lead", `{"aipub.io/promoted":"a"}`), "verb promote")
	for _, step := range []struct{ who, notes, rankedBy string }{
		{"lead", `{"aipub.io/rank":"m"}`, "lead"},
		{"lead", `{"aipub.io/rank":"n","aipub.io/ranked-by":"bob"}`, "lead"},
		{"bob", `{"example.com/note":"x"}`, "lead"},
		{"chief", `{"aipub.io/promoted":"a"}`, "chief"},
		{"lead", `{"aipub.io/rank":null}`, "lead"},
	} {
		if err := rank(step.who, step.notes); err != nil {
			t.Fatalf("%s %s: %v", step.who, step.notes, err)
		}
		c.reread(t, web)
		requireNotes(t, web, map[string]string{v1alpha1.RankedByAnnotation: step.rankedBy})
	}
	requireRefused(t, rank("alice", `{"aipub.io/promoted":null}`), "metadata.annotations[aipub.io/promoted]", `"" instead of "a"`)
}

// reviews counts the reviews of a webhook.
func reviews(t *testing.T, kind string) int {
	t.Helper()
	families, err := ctrlmetrics.Registry.(prometheus.Gatherer).Gather()
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	for _, family := range families {
		if family.GetName() != "aipub_admission_requests_total" {
			continue
		}
		for _, m := range family.GetMetric() {
			for _, label := range m.GetLabel() {
				if label.GetName() == "kind" && label.GetValue() == kind {
					count += int(m.GetCounter().GetValue())
				}
			}
		}
	}
	return count
}

// What is asked for at once reaches the ledger's webhooks, and nothing else does.
func testJudged(t *testing.T, c *cluster) {
	scale := func(who string, d *appsv1.Deployment, replicas int32) func() error {
		return func() error {
			return c.as(t, who).SubResource("scale").Update(t.Context(), d.DeepCopy(), client.WithSubResourceBody(
				&autoscalingv1.Scale{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: d.Name}, Spec: autoscalingv1.ScaleSpec{Replicas: replicas}}))
		}
	}
	notebook, plain := deployment("notebook"), deployment("plain-web")
	plain.Spec.Template.Spec = setPod("", "", "").Spec
	for _, step := range []struct {
		name, kind string
		do         func() error
		want       int
	}{
		{"a Workspace scaled up by another", "validate-scale", scale("bob", notebook, 3), 1},
		{"a Workspace scaled down", "validate-scale", scale("bob", notebook, 1), 0},
		{"replicas raised by an update", "validate-workloads", func() error { return c.merge(t, "bob", notebook, `{"spec":{"replicas":2}}`) }, 1},
		{"an update of something else", "validate-workloads", func() error { return c.merge(t, "bob", notebook, `{"metadata":{"labels":{"a":"b"}}}`) }, 0},
		{"an Operation", "validate-workloads", func() error { return c.as(t, "alice").Create(t.Context(), deployment("another")) }, 1},
		{"what asks for no set", "validate-workloads", func() error { return c.as(t, "alice").Create(t.Context(), plain) }, 0},
		{"a Job", "validate-workloads", func() error { return c.as(t, "alice").Create(t.Context(), cronJob("another")) }, 0},
	} {
		before := reviews(t, step.kind)
		if err := step.do(); err != nil {
			t.Errorf("%s: %v", step.name, err)
		}
		if got := reviews(t, step.kind) - before; got != step.want {
			t.Errorf("%s: %d reviews by %s, want %d", step.name, got, step.kind, step.want)
		}
	}
	c.reread(t, notebook)
	requireNotes(t, notebook, charged("alice"))
}

// Over quota, a Workspace is refused at once, whoever asks for more of it; a Job
// waits.
func testRefusedAtOnce(t *testing.T, c *cluster) {
	quota := convert[v1alpha1.ResourceSetQuota](t, "metadata: {name: alice}\nspec: {scope: {user: alice}, limits: {sets: {large: 0}}}")
	c.mustCreate(t, quota)
	workspace := func() *appsv1.Deployment { return note(deployment("over"), v1alpha1.TypeAnnotation, "Workspace") }
	eventually(t, "the quota is known", func() error {
		if err := c.as(t, "alice").Create(t.Context(), workspace(), client.DryRunAll); err == nil {
			return errors.New("accepted")
		}
		return nil
	})
	c.refuse(t, "alice", workspace(), "alice", "large")
	c.refuse(t, "alice", note(setPod("team", "over", "large=1"), v1alpha1.TypeAnnotation, "Workspace"), "alice", "large")
	c.refuse(t, "alice", deployment("over"), "alice", "large") // the minimum of an Operation
	notebook := deployment("notebook")
	c.reread(t, notebook)
	scale := &autoscalingv1.Scale{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "notebook"}, Spec: autoscalingv1.ScaleSpec{Replicas: *notebook.Spec.Replicas + 1}}
	requireRefused(t, c.as(t, "bob").SubResource("scale").Update(t.Context(), notebook, client.WithSubResourceBody(scale)), "alice", "large")
	requireRefused(t, c.merge(t, "bob", notebook, fmt.Sprintf(`{"spec":{"replicas":%d}}`, *notebook.Spec.Replicas+1)), "alice", "large")

	c.create(t, "alice", setPod("team", "waits", "large=1"))
	c.create(t, "bob", workspace())
	if err := c.Delete(t.Context(), quota); err != nil {
		t.Fatal(err)
	}
}
