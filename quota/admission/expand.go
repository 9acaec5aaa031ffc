// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"aipub.io/aipub/api/v1alpha1"
)

// Expansion is what a pod must hold because of its sets.
type Expansion struct {
	// Containers are those that ask for a set and do not hold all of it yet.
	Containers []Filled
	// Annotation is the value of [v1alpha1.SetAnnotation]; empty when no
	// container asks for a set.
	Annotation string
	// Warnings are sentences for the user about what was changed or lost.
	Warnings []string
}

// Filled is the resources that a container must have.
type Filled struct {
	// Pointer is the JSON pointer of the container, Field the same for people.
	Pointer string
	Field   *field.Path
	// Requests and Limits are complete: they replace those of the container.
	Requests, Limits corev1.ResourceList
}

// Expand computes what a new pod must hold. It changes nothing. A container
// without a set is left alone. CPU and memory that the user gave are kept when
// equal to the set's, raised with a warning when lower, and refused when
// higher; defaults that a LimitRange put there are replaced without a word. It
// is idempotent: an expanded pod expands to nothing.
//
// When refusals are returned, the expansion is empty.
func Expand(pod *corev1.Pod, sets Sets) (Expansion, Refusals) {
	asks, refusals := asksOf(&pod.Spec, sets)
	refusals = append(refusals, outsideContainers(&pod.Spec)...)
	refusals = append(refusals, initSets(asks)...)

	var x Expansion
	var held []string
	defaults := limitRangeDefaults(pod.Annotations)
	for _, a := range asks {
		if a.set == "" {
			continue
		}
		held = append(held, a.container.Name+"="+a.set)
		filled, changed, warnings, refused := a.fill(sets[a.set], defaults)
		refusals = append(refusals, refused...)
		x.Warnings = append(x.Warnings, warnings...)
		if changed {
			x.Containers = append(x.Containers, filled)
		}
	}
	if len(refusals) > 0 {
		return Expansion{}, refusals
	}
	x.Annotation = strings.Join(held, ",")
	x.Warnings = append(x.Warnings, alignmentLost(pod, asks)...)
	return x, nil
}

// fill computes the resources of one container and whether they differ from
// what it has.
func (a *ask) fill(set v1alpha1.ResourceSetSpec, defaults limitRange) (Filled, bool, []string, Refusals) {
	r := a.container.Resources
	f := Filled{Pointer: a.pointer, Field: a.field, Requests: clone(r.Requests), Limits: clone(r.Limits)}
	resourceName := corev1.ResourceName(v1alpha1.ResourcePrefix + a.set)
	if _, has := f.Limits[resourceName]; !has {
		f.Limits[resourceName] = f.Requests[resourceName]
	}
	f.Requests[resourceName] = f.Limits[resourceName]

	var warnings []string
	var refusals Refusals
	for name, want := range ordered(amounts(set, a.count)) {
		warning, refused := a.settle(f, name, want, defaults)
		if warning != "" {
			warnings = append(warnings, warning)
		}
		if refused != nil {
			refusals = append(refusals, *refused)
		}
	}
	return f, !same(r.Requests, f.Requests) || !same(r.Limits, f.Limits), warnings, refusals
}

// settle puts the wanted amount of CPU or memory into f and says what the user
// must know about it. Limits are looked at first: Kubernetes copies them to the
// requests, and one mistake deserves one sentence.
func (a *ask) settle(f Filled, name corev1.ResourceName, want resource.Quantity, defaults limitRange) (string, *Refusal) {
	raised := ""
	for _, side := range []struct {
		name string
		list corev1.ResourceList
	}{{"limits", f.Limits}, {"requests", f.Requests}} {
		given, has := side.list[name]
		side.list[name] = want
		if !has || defaults.has(a.container.Name, side.name, name) {
			continue
		}
		switch given.Cmp(want) {
		case 1:
			return "", &Refusal{
				Reason: ReasonAboveSet, Field: a.field.Child("resources", side.name).Key(string(name)).String(), Value: given.String(),
				Detail: fmt.Sprintf("is above the %s that belong to %d × %s%s; leave %s out, or ask for more sets or a larger one",
					want.String(), a.count, v1alpha1.ResourcePrefix, a.set, name),
			}
		case -1:
			raised = given.String()
		}
	}
	if raised == "" {
		return "", nil
	}
	return fmt.Sprintf("%s: %s was raised from %s to the %s that belong to %d × %s%s",
		a.field.Child("resources"), name, raised, want.String(), a.count, v1alpha1.ResourcePrefix, a.set), nil
}

// ordered yields a list in the order of its names, so that messages are the
// same every time.
func ordered(list corev1.ResourceList) iter.Seq2[corev1.ResourceName, resource.Quantity] {
	return func(yield func(corev1.ResourceName, resource.Quantity) bool) {
		for _, name := range slices.Sorted(maps.Keys(list)) {
			if !yield(name, list[name]) {
				return
			}
		}
	}
}

func clone(list corev1.ResourceList) corev1.ResourceList {
	out := corev1.ResourceList{}
	maps.Copy(out, list)
	return out
}

func same(a, b corev1.ResourceList) bool {
	if len(a) != len(b) {
		return false
	}
	for name, q := range a {
		other, has := b[name]
		if !has || q.Cmp(other) != 0 {
			return false
		}
	}
	return true
}
