// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"strings"

	"gomodules.xyz/jsonpatch/v2"
	corev1 "k8s.io/api/core/v1"

	"aipub.io/aipub/api/v1alpha1"
)

// patch writes an expansion as JSON patch. It names only what it sets: a patch
// computed by comparing whole objects would delete fields that a newer API
// server knows and we do not.
func patch(pod *corev1.Pod, x Expansion) []jsonpatch.JsonPatchOperation {
	var ops []jsonpatch.JsonPatchOperation
	for _, f := range x.Containers {
		ops = append(ops,
			jsonpatch.NewOperation("add", f.Pointer+"/resources/requests", f.Requests),
			jsonpatch.NewOperation("add", f.Pointer+"/resources/limits", f.Limits),
		)
	}
	switch {
	case x.Annotation == "" || pod.Annotations[v1alpha1.SetAnnotation] == x.Annotation:
	case pod.Annotations == nil:
		ops = append(ops, jsonpatch.NewOperation("add", "/metadata/annotations",
			map[string]string{v1alpha1.SetAnnotation: x.Annotation}))
	default:
		key := strings.ReplaceAll(v1alpha1.SetAnnotation, "/", "~1")
		ops = append(ops, jsonpatch.NewOperation("add", "/metadata/annotations/"+key, x.Annotation))
	}
	return ops
}
