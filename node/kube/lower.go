// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "aipub.io/aipub/api/v1alpha1"
)

// lowerTries is how often Lower looks again when the kubelet writes in between.
const lowerTries = 3

// Lower lowers the allocatable set resources of a Node to available, a number
// of devices by resource name, where the Node says more. The kubelet does so
// too, but only with its next status, and until then the scheduler binds pods
// that the kubelet refuses for good. Raising is left to the kubelet; names that
// the Node does not have, other resources and the capacity stay as they are.
func Lower(ctx context.Context, c client.Client, name string, available map[string]int64) error {
	for try := 1; ; try++ {
		node := &corev1.Node{}
		if err := c.Get(ctx, client.ObjectKey{Name: name}, node); err != nil {
			return fmt.Errorf("read node %s: %w", name, err)
		}
		patch, err := loweringPatch(node, available)
		if err != nil || patch == nil {
			return err
		}
		target := &corev1.Node{}
		target.Name = name
		err = c.Status().Patch(ctx, target, client.RawPatch(types.JSONPatchType, patch))
		if apierrors.IsInvalid(err) && try < lowerTries { // somebody wrote in between
			continue
		}
		if err != nil {
			return fmt.Errorf("lower allocatable sets of node %s: %w", name, err)
		}
		return nil
	}
}

// loweringPatch is a JSON patch that lowers a Node's allocatable sets to
// available; nil when none is above it. Each step first tests that the Node
// still says what it said, so that it never raises.
func loweringPatch(node *corev1.Node, available map[string]int64) ([]byte, error) {
	type op struct {
		Op    string `json:"op"`
		Path  string `json:"path"`
		Value string `json:"value"`
	}
	var ops []op
	for _, name := range slices.Sorted(maps.Keys(available)) {
		said, there := node.Status.Allocatable[corev1.ResourceName(name)]
		n := available[name]
		if !there || n < 0 || said.CmpInt64(n) <= 0 || !strings.HasPrefix(name, api.ResourcePrefix) {
			continue
		}
		path := "/status/allocatable/" + pointer(name)
		ops = append(ops, op{"test", path, said.String()}, op{"replace", path, strconv.FormatInt(n, 10)})
	}
	if len(ops) == 0 {
		return nil, nil
	}
	b, err := json.Marshal(ops)
	if err != nil {
		return nil, fmt.Errorf("encode node patch: %w", err)
	}
	return b, nil
}
