// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"aipub.io/aipub/api/v1alpha1"
)

func (c *cluster) label(t *testing.T, namespace, project string) {
	t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	patch := fmt.Sprintf(`{"metadata":{"labels":{%q:%q}}}`, v1alpha1.ProjectLabel, project)
	if err := c.Patch(t.Context(), ns, client.RawPatch("application/merge-patch+json", []byte(patch))); err != nil {
		t.Fatal(err)
	}
}

// What was made before stays with its project; what is made afterwards, by old
// workloads too, is the new project's.
func testMovedNamespace(t *testing.T, c *cluster) {
	c.label(t, "team", "nlp")
	rs := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "web-1"}}
	c.reread(t, rs)
	requireNotes(t, rs, charged("alice"))
	pod := ownedBy(setPod("team", "web-1-moved", "large=1"), "apps/v1", "ReplicaSet", rs)
	eventually(t, "the move is known everywhere", func() error {
		pod.ResourceVersion = ""
		if err := c.as(t, kubeSystem+"replicaset-controller").Create(t.Context(), pod, client.DryRunAll); err != nil {
			return err
		}
		if got := pod.Annotations[v1alpha1.ProjectAnnotation]; got != "nlp" {
			return fmt.Errorf("project %q", got)
		}
		return nil
	})
	old := setPod("team", "web-1-a", "")
	if err := c.merge(t, "alice", old, `{"metadata":{"labels":{"a":"b"}}}`); err != nil {
		t.Errorf("an old pod cannot be written any more: %v", err)
	}
	c.reread(t, old)
	requireNotes(t, old, charged("alice"))
	requireRefused(t, c.merge(t, "bob", old, `{"metadata":{"annotations":{"aipub.io/project":"nlp"}}}`), `"nlp" instead of "vision"`)
	if err := c.merge(t, "stranger", old, `{"metadata":{"annotations":{"aipub.io/rank":"a"}}}`); err != nil {
		t.Errorf("who orders the new project's queue may not: %v", err)
	}
	c.label(t, "team", "vision")
	eventually(t, "the move back is known everywhere", func() error {
		probe := setPod("team", "probe", "large=1")
		if err := c.as(t, "alice").Create(t.Context(), probe, client.DryRunAll); err != nil {
			return err
		}
		if got := probe.Annotations[v1alpha1.ProjectAnnotation]; got != "vision" {
			return fmt.Errorf("project %q", got)
		}
		return nil
	})
}

func testUnmanaged(t *testing.T, c *cluster) {
	pod := setPod("plain", "free", "large=1")
	pod.Spec.NodeName = "n1"
	c.create(t, "bob", pod)
	if len(pod.Annotations) > 0 || len(pod.Labels) > 0 || len(pod.Spec.SchedulingGates) > 0 {
		t.Errorf("annotations %v, labels %v, gates %v: want none", pod.Annotations, pod.Labels, pod.Spec.SchedulingGates)
	}
	// What is not managed today may be tomorrow.
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "plain", Name: "prepared"}}
	c.refuse(t, "bob", note(account, v1alpha1.UserAnnotation, "alice"), "aipub-identity-outside", `"alice"`, "plain is not")
	requireRefused(t, c.merge(t, "bob", pod, `{"metadata":{"annotations":{"aipub.io/user":"alice"}}}`), "aipub-identity-outside")

	for _, home := range []string{metav1.NamespaceSystem, "aipub-system"} {
		c.label(t, home, "mistake")
		system := note(setPod(home, "system", "large=1"), v1alpha1.UserAnnotation, "anybody")
		system.Spec.NodeName = "n1"
		c.create(t, "bob", system)
		if len(system.Annotations) != 1 || len(system.Spec.SchedulingGates) > 0 {
			t.Errorf("%s: annotations %v, gates %v: want it untouched", home, system.Annotations, system.Spec.SchedulingGates)
		}
	}
}

// testIdentityOutage has webhooks that nobody answers.
func testIdentityOutage(t *testing.T, c *cluster) {
	c.stop()
	c.refuse(t, "alice", setPod("team", "x", "large=1"), "failed calling webhook", "pods.sets.aipub.io")
	c.refuse(t, "alice", deployment("x"), "failed calling webhook", "workloads.identity.aipub.io")
	free := deployment("outage-free")
	free.Spec.Template.Spec = setPod("", "", "").Spec
	for name, object := range map[string]client.Object{
		"a Deployment that asks for nothing": free,
		"a pod that asks for nothing":        setPod("team", "outage-free", ""),
		"an account":                         &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "outage"}},
		"a set pod elsewhere":                setPod("plain", "outage", "large=1"),
	} {
		t.Run(name, func(t *testing.T) { c.create(t, "bob", object) })
	}
	web := deployment("web")
	requireRefused(t, c.merge(t, "bob", web, `{"metadata":{"annotations":{"aipub.io/user":"bob"}}}`), "aipub-identity-update")
	requireRefused(t, c.merge(t, "bob", web, `{"metadata":{"annotations":{"aipub.io/user":null}}}`), "aipub-identity-update", `"" instead of "alice"`)
	requireRefused(t, c.merge(t, "bob", setPod("team", "web-1-a", ""), `{"spec":{"schedulingGates":null}}`), "aipub-pods-update")
	if err := c.merge(t, "bob", web, `{"spec":{"replicas":2}}`); err != nil {
		t.Errorf("a stamped workload cannot be written any more: %v", err)
	}
}

// testPoliciesAlone has no webhook configurations: somebody deleted them.
func testPoliciesAlone(t *testing.T, c *cluster) {
	for _, object := range chartObjects(t, defaultOptions()) {
		if strings.HasSuffix(object.GetObjectKind().GroupVersionKind().Kind, "WebhookConfiguration") {
			if err := c.Delete(t.Context(), object); err != nil {
				t.Fatal(err)
			}
		}
	}
	// by is a pod as the webhook would make it, for somebody.
	by := func(user string, change func(*corev1.Pod)) *corev1.Pod {
		pod := setPod("team", "x", "large=1")
		pod.Annotations = map[string]string{v1alpha1.UserAnnotation: user, v1alpha1.ProjectAnnotation: "vision", v1alpha1.TypeAnnotation: "Job"}
		pod.Labels = map[string]string{v1alpha1.SetLabel: "large"}
		pod.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: v1alpha1.QuotaGate}}
		if change != nil {
			change(pod)
		}
		return pod
	}
	const ci = "system:serviceaccount:team:ci"
	eventually(t, "the API server forgets the webhooks", func() error {
		return c.as(t, "bob").Create(t.Context(), by("bob", nil), client.DryRunAll)
	})
	for name, tc := range map[string]struct {
		who   string
		pod   *corev1.Pod
		parts []string
	}{
		"nobody":                    {"bob", by("", func(p *corev1.Pod) { delete(p.Annotations, v1alpha1.UserAnnotation) }), []string{"aipub-identity-create", "nobody would be charged", "MutatingWebhookConfiguration aipub"}},
		"another":                   {"bob", by("alice", nil), []string{"aipub-identity-create", `"alice" would be charged`, "verb assign"}},
		"another, by an account":    {ci, by("bob", nil), []string{"aipub-identity-accounts", `"bob" would be charged`, "ci acts for alice"}},
		"a foreign account":         {"system:serviceaccount:argocd:server", by("alice", nil), []string{"aipub-identity-create"}},
		"another project":           {"bob", by("bob", func(p *corev1.Pod) { p.Annotations[v1alpha1.ProjectAnnotation] = "nlp" }), []string{`"nlp" is not the project`}},
		"another project as user":   {"lead", by("project:nlp", nil), []string{"names another project"}},
		"no project":                {"bob", by("bob", func(p *corev1.Pod) { delete(p.Annotations, v1alpha1.ProjectAnnotation) }), []string{"aipub.io/project"}},
		"no type":                   {"bob", by("bob", func(p *corev1.Pod) { delete(p.Annotations, v1alpha1.TypeAnnotation) }), []string{"aipub.io/type"}},
		"no gate":                   {"bob", by("bob", func(p *corev1.Pod) { p.Spec.SchedulingGates = nil }), []string{"aipub-pods-create", "spec.schedulingGates"}},
		"no gate, on a node":        {"bob", by("bob", func(p *corev1.Pod) { p.Spec.SchedulingGates, p.Spec.NodeName = nil, "n1" }), []string{"aipub-pods-create"}},
		"another set":               {"bob", by("bob", func(p *corev1.Pod) { p.Labels[v1alpha1.SetLabel] = "cpu" }), []string{"metadata.labels[aipub.io/set]", "large"}},
		"opened":                    {"bob", by("bob", func(p *corev1.Pod) { p.Annotations[v1alpha1.OpenedAnnotation] = "Within" }), []string{"aipub.io/opened"}},
		"a workload":                {"bob", by("bob", func(p *corev1.Pod) { p.Annotations[v1alpha1.WorkloadAnnotation] = "a/b/c/d" }), []string{"aipub.io/workload"}},
		"an unstamped controller's": {kubeSystem + "replicaset-controller", by("", func(p *corev1.Pod) { p.Annotations = nil }), []string{"nobody would be charged"}},
	} {
		t.Run(name, func(t *testing.T) { c.refuse(t, tc.who, tc.pod, tc.parts...) })
	}
	if err := c.as(t, ci).Create(t.Context(), by("alice", nil), client.DryRunAll); err != nil {
		t.Errorf("an account may not act for its own: %v", err)
	}
	if err := c.as(t, "carer").Create(t.Context(), by("alice", nil), client.DryRunAll); err != nil {
		t.Errorf("an assigner may not act for another: %v", err)
	}
}
