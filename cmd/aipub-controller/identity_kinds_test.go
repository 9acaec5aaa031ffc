// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"aipub.io/aipub/api/v1alpha1"
)

const notebookCRD = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: notebooks.kubeflow.org}
spec:
  group: kubeflow.org
  scope: Namespaced
  names: {kind: Notebook, plural: notebooks, singular: notebook, listKind: NotebookList}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`

func notebook(name string) *unstructured.Unstructured {
	n := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"template": "not a pod template"}}}
	n.SetGroupVersionKind(schema.GroupVersionKind{Group: "kubeflow.org", Version: "v1", Kind: "Notebook"})
	n.SetNamespace("team")
	n.SetName(name)
	return n
}

// TestFurtherKinds has an operator of another project, as docs/identity.md tells
// people to set up.
func TestFurtherKinds(t *testing.T) {
	const operator = "system:serviceaccount:kubeflow:notebook-controller-service-account"
	c := startCluster(t, "--set", "identity.trustedControllers={"+operator+"}",
		"--set", "identity.kinds[0].group=kubeflow.org,identity.kinds[0].resource=notebooks,identity.kinds[0].kind=Notebook,identity.kinds[0].type=Workspace")
	c.letTenantsIn(t)
	c.grant(t, "notebooks", rbacv1.PolicyRule{APIGroups: []string{"kubeflow.org", "apps"}, Resources: []string{"*"}, Verbs: []string{"get", "create", "update", "patch"}},
		group("tenants"), group("system:serviceaccounts:kubeflow"))
	c.mustCreate(t, convert[unstructured.Unstructured](t, notebookCRD))
	c.mustCreate(t, namespace("team", map[string]string{v1alpha1.ProjectLabel: "vision"}))
	c.mustCreate(t, namespace("plain", nil))
	c.mustCreate(t, convert[v1alpha1.PartitionPolicy](t, h200Policy))
	c.addNode(t, "n1", "h200", 2)
	c.expectSets(t, "cpu: 2 8Gi 0/0/0", "large: 28 240Gi 0/0/0")
	c.awaitPolicies(t)

	alices := notebook("alices")
	eventually(t, "the kind is served", func() error { return c.as(t, "alice").Create(t.Context(), alices) })
	requireNotes(t, alices, charged("alice"))
	requireNotes(t, alices, map[string]string{v1alpha1.TypeAnnotation: "Workspace"})
	c.refuse(t, "bob", note(notebook("x"), v1alpha1.UserAnnotation, "alice"), `"alice"`, "from bob")
	for _, subject := range []func() error{
		func() error { return c.merge(t, "bob", alices, `{"metadata":{"annotations":{"aipub.io/user":"bob"}}}`) },
		func() error {
			return c.as(t, "bob").Status().Patch(t.Context(), alices.DeepCopy(), client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"annotations":{"aipub.io/user":"bob"}}}`)))
		},
	} {
		// The API server leaves a custom resource's metadata alone under /status.
		if err := subject(); err != nil {
			requireRefused(t, err, `"bob" instead of "alice"`)
		}
		c.reread(t, alices)
		requireNotes(t, alices, charged("alice"))
	}

	// The operator copies the Notebook's annotations into the template, as Kubeflow's does.
	set := ownedBy(&appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "alices"}, Spec: appsv1.StatefulSetSpec{Selector: selector, Template: template()}},
		"kubeflow.org/v1", "Notebook", alices)
	set.Spec.Template.Annotations = alices.GetAnnotations()
	c.create(t, operator, set)
	requireNotes(t, set, charged("alice"))
	requireNotes(t, set, map[string]string{v1alpha1.TypeAnnotation: "Workspace"})

	pod := ownedBy(setPod("team", "alices-0", "large=1"), "apps/v1", "StatefulSet", set)
	pod.Annotations = set.Spec.Template.Annotations
	c.create(t, kubeSystem+"statefulset-controller", pod)
	requireGated(t, pod)
	requireNotes(t, pod, charged("alice"))
	requireNotes(t, pod, map[string]string{v1alpha1.TypeAnnotation: "Workspace",
		v1alpha1.WorkloadAnnotation: fmt.Sprintf("kubeflow.org/Notebook/alices/%s", alices.GetUID())})
}
