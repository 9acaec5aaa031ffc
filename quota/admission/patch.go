// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"maps"
	"slices"
	"strings"

	"gomodules.xyz/jsonpatch/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"aipub.io/aipub/api/v1alpha1"
)

// The patches name only what they set: a patch computed by comparing whole objects
// would delete fields that a newer API server knows and we do not.

// patch writes an expansion as JSON patch, with further annotations.
func patch(pod *corev1.Pod, x Expansion, annotations map[string]string) []jsonpatch.JsonPatchOperation {
	var ops []jsonpatch.JsonPatchOperation
	for _, f := range x.Containers {
		ops = append(ops,
			jsonpatch.NewOperation("add", f.Pointer+"/resources/requests", f.Requests),
			jsonpatch.NewOperation("add", f.Pointer+"/resources/limits", f.Limits),
		)
	}
	all := map[string]string{v1alpha1.SetAnnotation: x.Annotation}
	maps.Copy(all, annotations)
	return append(ops, annotate(&pod.ObjectMeta, all)...)
}

// annotate adds annotations to an object; empty ones and those that it has are left
// out.
func annotate(object *metav1.ObjectMeta, annotations map[string]string) []jsonpatch.JsonPatchOperation {
	return put("/metadata/annotations", object.Annotations, missing(object, annotations))
}

// put adds entries to a map in an object, which is nil where the object has none.
func put(pointer string, has, entries map[string]string) []jsonpatch.JsonPatchOperation {
	if len(entries) == 0 {
		return nil
	}
	if has == nil {
		return []jsonpatch.JsonPatchOperation{jsonpatch.NewOperation("add", pointer, entries)}
	}
	var ops []jsonpatch.JsonPatchOperation
	for _, key := range slices.Sorted(maps.Keys(entries)) {
		ops = append(ops, jsonpatch.NewOperation("add", pointer+"/"+escape(key), entries[key]))
	}
	return ops
}

// escape writes a key as a part of a JSON pointer.
func escape(key string) string { return strings.NewReplacer("~", "~0", "/", "~1").Replace(key) }
