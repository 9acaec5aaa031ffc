// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"aipub.io/aipub/api/v1alpha1"
)

// ownDomain stands before every resource name that is ours.
const ownDomain = "aipub.io/"

// maxCount bounds the sets of one container, so that the product of count and
// size stays far from overflow. No node has more slices of one size.
const maxCount = 1000

// ask is what one container says about sets.
type ask struct {
	container *corev1.Container
	// pointer and field are the place of the container, as JSON pointer and
	// for people.
	pointer string
	field   *field.Path
	// init is true for an init container that ends before the others start; a
	// sidecar is none.
	init bool
	// set is the name without prefix and count how many; empty and 0 when the
	// container asks for none.
	set   string
	count int64
}

// asksOf reads what the containers of a pod ask for. Containers whose ask is
// refused are left out.
func asksOf(spec *corev1.PodSpec, sets Sets) ([]ask, Refusals) {
	var asks []ask
	var refusals Refusals
	for _, a := range containersOf(spec) {
		if refused := a.read(sets); refused != nil {
			refusals = append(refusals, *refused)
			continue
		}
		asks = append(asks, a)
	}
	return asks, refusals
}

// containersOf lists the containers of a pod with their places, init containers
// first, as they start. What they ask for is not read yet.
func containersOf(spec *corev1.PodSpec) []ask {
	var all []ask
	add := func(list string, containers []corev1.Container, init bool) {
		for i := range containers {
			c := &containers[i]
			all = append(all, ask{
				container: c,
				pointer:   fmt.Sprintf("/spec/%s/%d", list, i),
				field:     field.NewPath("spec", list).Index(i),
				init:      init && !isSidecar(c),
			})
		}
	}
	add("initContainers", spec.InitContainers, true)
	add("containers", spec.Containers, false)
	return all
}

func isSidecar(c *corev1.Container) bool {
	return c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways
}

// read fills in set and count from the container's resources.
func (a *ask) read(sets Sets) *Refusal {
	names := ownNames(a.container.Resources)
	if len(names) == 0 {
		return nil
	}
	if len(names) > 1 {
		return &Refusal{
			Reason: ReasonTwoSets, Field: a.field.Child("resources", "limits").String(),
			Value:  strings.Join(names, ", "),
			Detail: "are two different sets; a container holds sets of one kind, so keep one of them, or move the other to a container of its own",
		}
	}
	at, given := a.find(names[0])
	count, refused := readCount(given, at, names[0])
	if refused != nil {
		return refused
	}
	set, isSet := strings.CutPrefix(names[0], v1alpha1.ResourcePrefix)
	spec, known := sets[set]
	switch {
	case !isSet || !known:
		return unknownSet(at, names[0], sets)
	case retired(spec):
		return &Refusal{
			Reason: ReasonRetiredSet, Field: at.String(),
			Detail: fmt.Sprintf("no PartitionPolicy defines set %s any more, it exists only until its last holder ends; ask for another: %s",
				set, closestSet(set, sets.defined())),
		}
	}
	a.set, a.count = set, count
	return nil
}

// ownNames lists the resources of ours that a container names, sorted.
func ownNames(r corev1.ResourceRequirements) []string {
	found := map[string]bool{}
	for _, list := range []corev1.ResourceList{r.Requests, r.Limits} {
		for name := range list {
			if strings.HasPrefix(string(name), ownDomain) {
				found[string(name)] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// find returns where the container gives a resource, and its value in requests
// and limits; a request alone counts as both, as the limit is all that matters
// for a resource that cannot be overcommitted.
func (a *ask) find(name string) (*field.Path, [2]resource.Quantity) {
	r := a.container.Resources
	request, hasRequest := r.Requests[corev1.ResourceName(name)]
	limit, hasLimit := r.Limits[corev1.ResourceName(name)]
	switch {
	case !hasLimit:
		return a.field.Child("resources", "requests").Key(name), [2]resource.Quantity{request, request}
	case !hasRequest:
		request = limit
	}
	return a.field.Child("resources", "limits").Key(name), [2]resource.Quantity{request, limit}
}

// readCount takes a number of sets from request and limit.
func readCount(given [2]resource.Quantity, at *field.Path, name string) (int64, *Refusal) {
	request, limit := given[0], given[1]
	if request.Cmp(limit) != 0 {
		return 0, &Refusal{
			Reason: ReasonCountsDiffer, Field: at.String(), Value: limit.String(),
			Detail: fmt.Sprintf("differs from the request %s; sets are not overcommitted, so leave requests.%s out or make it %s",
				request.String(), name, limit.String()),
		}
	}
	count, whole := limit.AsInt64()
	if !whole || count < 1 || count > maxCount {
		return 0, &Refusal{
			Reason: ReasonBadCount, Field: at.String(), Value: limit.String(),
			Detail: fmt.Sprintf("is no number of sets; a set is taken whole: give a whole number from 1 to %d, or ask for a smaller set", maxCount),
		}
	}
	return count, nil
}

// bareName is the name of a set as its author may have meant it.
func bareName(name string) string {
	return strings.TrimPrefix(strings.TrimPrefix(name, ownDomain), "set-")
}

func unknownSet(at *field.Path, name string, sets Sets) *Refusal {
	wanted := bareName(name)
	return &Refusal{
		Reason: ReasonUnknownSet, Field: at.String(),
		Detail: fmt.Sprintf("no set has the name %s; ask for %sNAME with one of these names, closest first: %s",
			wanted, v1alpha1.ResourcePrefix, closestSet(wanted, sets.defined())),
	}
}
