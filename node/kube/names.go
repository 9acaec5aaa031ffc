// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "aipub.io/aipub/api/v1alpha1"
)

// kubeletGrace is how long the kubelet holds on to a resource whose plugin is
// gone (endpointStopGracePeriod of its device manager, five minutes), and some
// time for it to say so. Until then it writes a removed name back with its next
// status.
const kubeletGrace = 5*time.Minute + 30*time.Second

// staleness is since when each resource name has been stale.
type staleness map[string]time.Time

// due takes the names that are stale now and returns those that have been so
// for longer than the kubelet's grace, and how long until the next look.
func (s staleness) due(stale []string, now time.Time) (due []string, next time.Duration) {
	for name := range s {
		if !slices.Contains(stale, name) {
			delete(s, name)
		}
	}
	next = resync
	for _, name := range stale {
		since, known := s[name]
		if !known {
			since, s[name] = now, now
		}
		wait := kubeletGrace - now.Sub(since)
		if wait <= 0 {
			due = append(due, name)
			continue
		}
		next = min(next, wait)
	}
	return due, next
}

// StaleNames returns the set resources in a Node's status that nobody serves
// and that have no capacity any more, sorted. The kubelet itself never removes
// a resource name from the Node; it only sets it to zero (kubernetes#92396).
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

// Withdraw takes every set resource out of the Node's status, so that the
// scheduler binds no more pods that ask for one. It is for the time in which the
// kubelet does not run: it would refuse such a pod for good if it saw the pod
// before the device plugins have registered (kubernetes#128043). A kubelet that
// runs writes the names back by itself.
func Withdraw(ctx context.Context, c client.Client, name string) error {
	node := &corev1.Node{}
	if err := c.Get(ctx, client.ObjectKey{Name: name}, node); err != nil {
		return fmt.Errorf("read node %s: %w", name, err)
	}
	var names []string
	for n := range node.Status.Capacity {
		if strings.HasPrefix(string(n), api.ResourcePrefix) {
			names = append(names, string(n))
		}
	}
	if len(names) == 0 {
		return nil
	}
	slices.Sort(names)
	return removeNames(ctx, c, node, names, false)
}

// removeNames takes names out of a Node's status; with onlyZero only while their
// capacity is zero.
func removeNames(ctx context.Context, c client.Client, node *corev1.Node, names []string, onlyZero bool) error {
	patch, err := removalPatch(node, names, onlyZero)
	if err != nil {
		return err
	}
	target := &corev1.Node{}
	target.Name = node.Name
	err = c.Status().Patch(ctx, target, client.RawPatch(types.JSONPatchType, patch))
	if apierrors.IsInvalid(err) { // somebody was faster; the next look tells
		return nil
	}
	if err != nil {
		return fmt.Errorf("remove resource names from node %s: %w", node.Name, err)
	}
	return nil
}

// removalPatch is a JSON patch that takes names out of a Node's capacity and
// allocatable. With onlyZero it first tests that the capacity is still zero, so
// that a plugin that registered in between keeps its name.
func removalPatch(node *corev1.Node, names []string, onlyZero bool) ([]byte, error) {
	type op struct {
		Op    string  `json:"op"`
		Path  string  `json:"path"`
		Value *string `json:"value,omitempty"`
	}
	zero := "0"
	var ops []op
	for _, n := range names {
		key := pointer(n)
		capacity := "/status/capacity/" + key
		if onlyZero {
			ops = append(ops, op{"test", capacity, &zero})
		}
		ops = append(ops, op{Op: "remove", Path: capacity})
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

// pointer is a key as JSON pointers spell it.
func pointer(key string) string { return strings.NewReplacer("~", "~0", "/", "~1").Replace(key) }
