// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"aipub.io/aipub/quota"
	"aipub.io/aipub/quota/placement"
)

// shared are refusals that hold for more than one pod. Within one decision what is
// charged and taken only grows, so a refusal stays right until its end.
type shared struct {
	quota  map[quotaKey]*refusal
	seats  map[seatKey]*refusal
	bounds map[*corev1.PodSpec]string
}

type quotaKey struct {
	party     quota.Party
	namespace string // the sentence depends on what its readers may know
	sets      string
	// workload and generation where they matter: a pod whose workload holds
	// something or has a minimum can stand above a limit where others cannot.
	workload   *item
	generation string
}

type seatKey struct{ sets, bounds string }

func newShared() shared {
	return shared{quota: map[quotaKey]*refusal{}, seats: map[seatKey]*refusal{}, bounds: map[*corev1.PodSpec]string{}}
}

// quotaKeyOf names all pods that get the same answer from the book.
func quotaKeyOf(it *item, p *Pending) quotaKey {
	key := quotaKey{party: p.Claim.Party, namespace: p.Claim.Namespace, sets: setsText(p.Claim.Sets)}
	if it.holds.pods > 0 || it.floor > 0 {
		key.workload, key.generation = it, p.Claim.Generation
	}
	return key
}

// seatKey names all pods that get the same answer from the nodes.
func (s *shared) seatKey(a *placement.Ask) seatKey {
	bounds, known := s.bounds[a.Pod]
	if !known {
		bounds = boundsText(a.Pod)
		s.bounds[a.Pod] = bounds
	}
	return seatKey{setsText(a.Sets), bounds}
}

// boundsText says on which nodes a pod may be.
func boundsText(spec *corev1.PodSpec) string {
	if spec == nil {
		return ""
	}
	bounds := corev1.PodSpec{NodeName: spec.NodeName, NodeSelector: spec.NodeSelector, Tolerations: spec.Tolerations}
	if spec.Affinity != nil {
		bounds.Affinity = &corev1.Affinity{NodeAffinity: spec.Affinity.NodeAffinity}
	}
	raw, err := json.Marshal(&bounds)
	if err != nil {
		// No two pods share what cannot be written down.
		return fmt.Sprintf("%p", spec)
	}
	return string(raw)
}

// setsText names a set of amounts.
func setsText(sets map[string]int64) string {
	if len(sets) == 1 {
		for name, n := range sets {
			if n == 1 {
				return name
			}
		}
	}
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(sets)) {
		fmt.Fprintf(&text, "%s=%d,", name, sets[name])
	}
	return text.String()
}
