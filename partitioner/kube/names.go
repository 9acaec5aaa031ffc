// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	api "aipub.io/aipub/api/v1alpha1"
)

// setNames are the set resources in one Node's status.
type setNames struct {
	node *corev1.Node
	// all are the names, kept those with a capacity above zero; sorted.
	all, kept []corev1.ResourceName
}

func namesOn(node *corev1.Node) setNames {
	found := map[corev1.ResourceName]bool{}
	for _, list := range []corev1.ResourceList{node.Status.Capacity, node.Status.Allocatable} {
		for name := range list {
			if strings.HasPrefix(string(name), api.ResourcePrefix) {
				found[name] = true
			}
		}
	}
	names := setNames{node: node, all: slices.Sorted(maps.Keys(found))}
	for _, name := range names.all {
		if q, ok := node.Status.Capacity[name]; ok && !q.IsZero() {
			names.kept = append(names.kept, name)
		}
	}
	return names
}

func (n setNames) text() string {
	list := make([]string, len(n.all))
	for i, name := range n.all {
		list[i] = string(name)
	}
	return strings.Join(list, ", ")
}

func (n setNames) keptText() string {
	list := make([]string, len(n.kept))
	for i, name := range n.kept {
		q := n.node.Status.Capacity[name]
		list[i] = fmt.Sprintf("%s (%s)", name, q.String())
	}
	return strings.Join(list, ", ")
}

// removal is a JSON patch that takes all names off. It tests first that each
// capacity is still what was seen, so that a plugin which registered meanwhile
// keeps its name.
func (n setNames) removal() ([]byte, error) {
	type op struct {
		Op    string `json:"op"`
		Path  string `json:"path"`
		Value any    `json:"value,omitempty"`
	}
	var ops []op
	for _, name := range n.all {
		key := strings.NewReplacer("~", "~0", "/", "~1").Replace(string(name))
		if q, ok := n.node.Status.Capacity[name]; ok {
			ops = append(ops, op{"test", "/status/capacity/" + key, q}, op{Op: "remove", Path: "/status/capacity/" + key})
		}
		if _, ok := n.node.Status.Allocatable[name]; ok {
			ops = append(ops, op{Op: "remove", Path: "/status/allocatable/" + key})
		}
	}
	raw, err := json.Marshal(ops)
	if err != nil {
		return nil, fmt.Errorf("encode patch of node %s: %w", n.node.Name, err)
	}
	return raw, nil
}
