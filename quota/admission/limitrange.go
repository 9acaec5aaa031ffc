// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// limitRangeAnnotation is where the API server's LimitRanger, which runs before
// webhooks, writes down which values are its defaults and not the user's.
const limitRangeAnnotation = "kubernetes.io/limit-ranger"

// limitRange says which resources of which container are defaults: keys are
// "container/limits/cpu".
type limitRange map[string]bool

// limitRangeDefaults reads the annotation, which looks like
// "LimitRanger plugin set: cpu, memory request for container app; cpu limit for
// init container prepare". What does not look like it is ignored: then values
// count as the user's own. A user who forges it gains nothing, since the set's
// amounts are put in either way.
func limitRangeDefaults(annotations map[string]string) limitRange {
	found := limitRange{}
	_, list, _ := strings.Cut(annotations[limitRangeAnnotation], "plugin set: ")
	for sentence := range strings.SplitSeq(list, "; ") {
		what, container, ok := strings.Cut(sentence, " for ")
		if !ok {
			continue
		}
		container = strings.TrimPrefix(strings.TrimPrefix(container, "init "), "container ")
		side := "limits"
		names, isLimit := strings.CutSuffix(what, " limit")
		if !isLimit {
			side = "requests"
			names = strings.TrimSuffix(what, " request")
		}
		for name := range strings.SplitSeq(names, ", ") {
			found[container+"/"+side+"/"+name] = true
		}
	}
	return found
}

func (l limitRange) has(container, side string, name corev1.ResourceName) bool {
	return l[container+"/"+side+"/"+string(name)]
}
