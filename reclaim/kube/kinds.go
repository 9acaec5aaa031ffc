// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"fmt"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	api "aipub.io/aipub/api/v1alpha1"
)

// Kind is a kind of workload that can be paused, and how.
type Kind struct {
	schema.GroupVersionKind
	// stopped reports whether it makes no pods.
	stopped func(o *unstructured.Unstructured) bool
	// stop and start change it so that it makes none, and as many as before.
	stop  func(o *unstructured.Unstructured, at time.Time)
	start func(o *unstructured.Unstructured)
}

// notebookStopped is the annotation by which Kubeflow's controller stops a Notebook.
const notebookStopped = "kubeflow-resource-stopped"

// Kinds are the kinds that can be paused, beside Workspaces. Notebook is there only
// where its kind is stamped; see identity.kinds of the chart.
func Kinds(notebooks bool) []Kind {
	scaled := Kind{stopped: noReplicas, stop: dropReplicas, start: restoreReplicas}
	var out []Kind
	for _, name := range []string{"Deployment", "StatefulSet"} {
		k := scaled
		k.GroupVersionKind = schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: name}
		out = append(out, k)
	}
	if notebooks {
		out = append(out, Kind{
			GroupVersionKind: NotebookKind,
			stopped:          func(o *unstructured.Unstructured) bool { return o.GetAnnotations()[notebookStopped] != "" },
			stop: func(o *unstructured.Unstructured, at time.Time) {
				annotate(o, notebookStopped, at.UTC().Format(time.RFC3339))
			},
			start: func(o *unstructured.Unstructured) { annotate(o, notebookStopped, "") },
		})
	}
	return out
}

// NotebookKind is Kubeflow's.
var NotebookKind = schema.GroupVersionKind{Group: "kubeflow.org", Version: "v1", Kind: "Notebook"}

func replicas(o *unstructured.Unstructured) int64 {
	n, found, err := unstructured.NestedInt64(o.Object, "spec", "replicas")
	if err != nil || !found {
		return 1
	}
	return n
}

func noReplicas(o *unstructured.Unstructured) bool { return replicas(o) == 0 }

func dropReplicas(o *unstructured.Unstructured, _ time.Time) {
	annotate(o, api.PausedReplicasAnnotation, strconv.FormatInt(replicas(o), 10))
	setReplicas(o, 0)
}

// restoreReplicas scales to what it was. Whoever scaled it meanwhile is not overruled.
func restoreReplicas(o *unstructured.Unstructured) {
	before, err := strconv.ParseInt(o.GetAnnotations()[api.PausedReplicasAnnotation], 10, 32)
	if err != nil || before < 1 {
		before = 1
	}
	if noReplicas(o) {
		setReplicas(o, before)
	}
	annotate(o, api.PausedReplicasAnnotation, "")
}

func setReplicas(o *unstructured.Unstructured, n int64) {
	// It fails only where spec is no object, which the API server refuses.
	_ = unstructured.SetNestedField(o.Object, n, "spec", "replicas")
}

// annotate sets an annotation, or takes it away where the value is empty.
func annotate(o metav1.Object, name, value string) {
	a := o.GetAnnotations()
	if a == nil {
		a = map[string]string{}
	}
	if value == "" {
		delete(a, name)
	} else {
		a[name] = value
	}
	o.SetAnnotations(a)
}

// reference is how a pod's annotation names a workload; see
// [api.WorkloadAnnotation].
func (k Kind) reference(o metav1.Object) string {
	return fmt.Sprintf("%s/%s/%s/%s", k.Group, k.Kind, o.GetName(), o.GetUID())
}
