// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"encoding/json"

	corev1 "k8s.io/api/core/v1"
)

// Bounds give pods with equal bounds one address for them, so that they are judged
// once. The zero value is ready. It is not safe for concurrent use.
type Bounds struct{ known map[string]*corev1.PodSpec }

// maxBounds is how many different ones are remembered.
const maxBounds = 10000

// of is what of a pod decides on which nodes it may be.
func (b *Bounds) of(spec *corev1.PodSpec) *corev1.PodSpec {
	out := &corev1.PodSpec{NodeSelector: spec.NodeSelector, Tolerations: spec.Tolerations}
	if spec.Affinity != nil && spec.Affinity.NodeAffinity != nil {
		out.Affinity = &corev1.Affinity{NodeAffinity: spec.Affinity.NodeAffinity}
	}
	if b == nil {
		return out
	}
	raw, err := json.Marshal(out)
	if err != nil {
		return out
	}
	if same := b.known[string(raw)]; same != nil {
		return same
	}
	if b.known == nil || len(b.known) >= maxBounds {
		b.known = map[string]*corev1.PodSpec{}
	}
	b.known[string(raw)] = out
	return out
}
