// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	api "aipub.io/aipub/api/v1alpha1"
)

// StaleNames returns the set resources in a Node's status that nobody serves
// and that the kubelet has let go of, sorted.
//
// The kubelet never removes a resource name from the Node: it keeps the
// capacity of a plugin that is gone for five minutes, then sets it to zero for
// good (kubernetes#92396). Before that, a removed key would only come back, so
// a name counts as stale when its capacity is zero.
func StaleNames(node *corev1.Node, served []string) []string {
	var stale []string
	for name, q := range node.Status.Capacity {
		if strings.HasPrefix(string(name), api.ResourcePrefix) && q.IsZero() && !slices.Contains(served, string(name)) {
			stale = append(stale, string(name))
		}
	}
	slices.Sort(stale)
	return stale
}

// removalPatch is a JSON patch that takes names out of a Node's capacity and
// allocatable. It first tests that the capacity is still zero, so that a plugin
// that registered in between keeps its name.
func removalPatch(node *corev1.Node, names []string) ([]byte, error) {
	type op struct {
		Op    string  `json:"op"`
		Path  string  `json:"path"`
		Value *string `json:"value,omitempty"`
	}
	zero := "0"
	var ops []op
	for _, n := range names {
		key := strings.NewReplacer("~", "~0", "/", "~1").Replace(n)
		capacity := "/status/capacity/" + key
		ops = append(ops, op{"test", capacity, &zero}, op{Op: "remove", Path: capacity})
		if _, ok := node.Status.Allocatable[corev1.ResourceName(n)]; ok {
			ops = append(ops, op{Op: "remove", Path: "/status/allocatable/" + key})
		}
	}
	b, err := json.Marshal(ops)
	if err != nil {
		return nil, fmt.Errorf("encode node patch: %w", err)
	}
	return b, nil
}
