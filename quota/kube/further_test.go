// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "aipub.io/aipub/api/v1alpha1"
)

// labKind is a kind of workload that somebody else defines.
var labKind = schema.GroupVersionKind{Group: "example.com", Version: "v1beta2", Kind: "Lab"}

func labDefinition() *apiextensionsv1.CustomResourceDefinition {
	anything := true
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "labs.example.com"},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: labKind.Group, Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "labs", Singular: "lab", Kind: labKind.Kind, ListKind: "LabList"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: labKind.Version, Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
					Type: "object", XPreserveUnknownFields: &anything,
				}},
			}},
		},
	}
}

// workspaceStamps are what admission writes on a workload of a project.
func workspaceStamps(project, rank string) map[string]string {
	stamps := map[string]string{
		api.ProjectAnnotation: project, api.UserAnnotation: "alice", api.TypeAnnotation: string(api.TypeWorkspace),
	}
	if rank != "" {
		stamps[api.RankAnnotation] = rank
	}
	return stamps
}

// podOf is a pod of a workload, as admission leaves it.
func podOf(workload client.Object, kind schema.GroupVersionKind) *corev1.Pod {
	pod := ownedBy(gatedPod(workload.GetNamespace(), "alice", workload.GetName()), kind.Kind, workload.GetName(), string(workload.GetUID()))
	pod.OwnerReferences[0].APIVersion = kind.GroupVersion().String()
	pod.Annotations[api.TypeAnnotation] = string(api.TypeWorkspace)
	pod.Annotations[api.WorkloadAnnotation] = strings.Join([]string{kind.Group, kind.Kind, workload.GetName(), string(workload.GetUID())}, "/")
	return pod
}

// raise sets a quota on small sets anew.
func (c *apiServer) raise(t *testing.T, name string, small int32) {
	t.Helper()
	var q api.ResourceSetQuota
	if err := c.Get(t.Context(), client.ObjectKey{Name: name}, &q); err != nil {
		t.Fatal(err)
	}
	q.Spec.Limits.Sets["small"] = small
	if err := c.Update(t.Context(), &q); err != nil {
		t.Fatal(err)
	}
}

// requirePlaces makes two workloads, the younger ranked first, and lets one of them go.
func requirePlaces(t *testing.T, c *apiServer, project string, kind schema.GroupVersionKind, workload func(name, rank string) client.Object) {
	t.Helper()
	c.project(t, project)
	c.quota(t, project, api.QuotaScope{Project: project}, 0)
	for name, rank := range map[string]string{"later": "z", "sooner": "0"} {
		w := workload(name, rank)
		c.mustCreate(t, w)
		c.mustCreate(t, podOf(w, kind))
	}
	for _, name := range []string{"later", "sooner"} {
		c.requireCondition(t, project, name, "False ProjectQuotaReached")
	}
	c.raise(t, project, 1)
	c.requireOpen(t, project, "sooner")
	if isOpen(c.get(t, project, "later")) {
		t.Error("two were let through where one fits")
	}
}

func testWorkspaces(t *testing.T, c *apiServer) {
	kind := api.GroupVersion.WithKind("Workspace")
	requirePlaces(t, c, "design", kind, func(name, rank string) client.Object {
		return &api.Workspace{
			ObjectMeta: metav1.ObjectMeta{Namespace: "design", Name: name, Annotations: workspaceStamps("design", rank)},
			Spec:       api.WorkspaceSpec{Set: "small", Image: "none"},
		}
	})
	var w api.Workspace
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: "design", Name: "sooner"}, &w); err != nil {
		t.Fatal(err)
	}
	expires := metav1.NewTime(time.Now().Add(90 * time.Minute).Truncate(time.Second))
	w.Status.Occupancy = &api.Occupancy{ExpiresAt: &expires}
	if err := c.Status().Update(t.Context(), &w); err != nil {
		t.Fatal(err)
	}
	eventually(t, "when it is due back, in the quota's status", func() error {
		var q api.ResourceSetQuota
		if err := c.Get(t.Context(), client.ObjectKey{Name: "design"}, &q); err != nil {
			return err
		}
		if h := q.Status.Holders; len(h) != 1 || h[0].DueBack == nil || !h[0].DueBack.Equal(&expires) {
			return fmt.Errorf("holders %+v, want them due at %s", h, expires)
		}
		return nil
	})
	c.mustCreate(t, gatedPod("design", "bob", "waits"))
	if said := c.requireCondition(t, "design", "waits", "False ProjectQuotaReached"); !strings.Contains(said.Message, "the next is due back at") {
		t.Errorf("who waits is told %q, want when the next is due back", said.Message)
	}
	c.drop(t, "design", "later", "waits")
}

func testFurtherKinds(t *testing.T, c *apiServer) {
	requirePlaces(t, c, "bio", labKind, func(name, rank string) client.Object {
		lab := &unstructured.Unstructured{}
		lab.SetGroupVersionKind(labKind)
		lab.SetNamespace("bio")
		lab.SetName(name)
		lab.SetAnnotations(workspaceStamps("bio", rank))
		return lab
	})
	c.drop(t, "bio", "later")
}

// drop deletes pods that wait, so that those after them start anew.
func (c *apiServer) drop(t *testing.T, namespace string, names ...string) {
	t.Helper()
	for _, name := range names {
		if err := c.Delete(t.Context(), c.get(t, namespace, name)); err != nil {
			t.Fatal(err)
		}
	}
}
