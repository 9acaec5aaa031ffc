// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "aipub.io/aipub/api/v1alpha1"
)

// Every write carries the resourceVersion that the decision was made on, so a
// round that saw old objects changes nothing and is repeated.

func (c *Controller) writeSets(ctx context.Context, s Snapshot, out Outcome) error {
	existing := map[string]*api.ResourceSet{}
	for i := range s.Sets {
		existing[s.Sets[i].Name] = &s.Sets[i]
	}
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(out.Sets)) {
		errs = append(errs, c.writeSet(ctx, existing[name], name, out.Sets[name]))
	}
	for _, name := range out.Obsolete {
		err := c.client.Delete(ctx, existing[name], preconditions(existing[name]))
		if client.IgnoreNotFound(err) != nil {
			errs = append(errs, fmt.Errorf("delete resource set %s: %w", name, err))
		} else if err == nil {
			logr.FromContextOrDiscard(ctx).Info("Deleted resource set", "set", name)
		}
	}
	return errors.Join(errs...)
}

func (c *Controller) writeSet(ctx context.Context, existing *api.ResourceSet, name string, want SetOutcome) error {
	set := &api.ResourceSet{ObjectMeta: metav1.ObjectMeta{Name: name}}
	var err error
	switch {
	case existing == nil:
		set.Spec = want.Spec
		if err = c.client.Create(ctx, set); err == nil {
			logr.FromContextOrDiscard(ctx).Info("Created resource set", "set", name, "cpu", want.Spec.CPU.String(), "memory", want.Spec.Memory.String())
		}
	case !equality.Semantic.DeepEqual(existing.Spec, want.Spec):
		set = existing.DeepCopy()
		set.Spec = want.Spec
		if err = c.client.Update(ctx, set); err == nil {
			logr.FromContextOrDiscard(ctx).Info("Changed resource set", "set", name, "cpu", want.Spec.CPU.String(), "memory", want.Spec.Memory.String())
		}
	default:
		set = existing.DeepCopy()
	}
	if err != nil {
		return fmt.Errorf("write resource set %s: %w", name, err)
	}
	if equality.Semantic.DeepEqual(set.Status, want.Status) {
		return nil
	}
	before := meta.FindStatusCondition(set.Status.Conditions, api.ConditionReady)
	set.Status = want.Status
	if err := c.client.Status().Update(ctx, set); err != nil {
		return fmt.Errorf("write status of resource set %s: %w", name, err)
	}
	c.announce(set, before, want.Status.Conditions)
	return nil
}

func (c *Controller) writePolicies(ctx context.Context, s Snapshot, out Outcome) error {
	var errs []error
	for i := range s.Policies {
		policy := s.Policies[i].DeepCopy()
		want := out.Policies[policy.Name]
		if equality.Semantic.DeepEqual(policy.Status, want) {
			continue
		}
		before := meta.FindStatusCondition(policy.Status.Conditions, api.ConditionReady)
		policy.Status = want
		if err := c.client.Status().Update(ctx, policy); err != nil {
			errs = append(errs, fmt.Errorf("write status of partition policy %s: %w", policy.Name, err))
			continue
		}
		c.announce(policy, before, want.Conditions)
	}
	return errors.Join(errs...)
}

// announce records an event when the reason of the Ready condition changed.
func (c *Controller) announce(object runtime.Object, before *metav1.Condition, conditions []metav1.Condition) {
	now := meta.FindStatusCondition(conditions, api.ConditionReady)
	if c.config.Events == nil || now == nil || (before != nil && before.Reason == now.Reason) {
		return
	}
	eventType := corev1.EventTypeWarning
	if now.Status == metav1.ConditionTrue {
		eventType = corev1.EventTypeNormal
	}
	c.config.Events.Eventf(object, nil, eventType, now.Reason, "Reconcile", "%s", short(now.Message))
}

// maxNote is the longest note that the API server takes in an event.
const maxNote = 1000

func short(message string) string {
	if len(message) > maxNote {
		return strings.ToValidUTF8(message[:maxNote], "") + " …"
	}
	return message
}

// deleteOrphans deletes the NodePartitions of Nodes that are gone. The owner
// reference does the same where there is one. Since caches of different kinds
// are not in step, the Node is looked for once more.
func (c *Controller) deleteOrphans(ctx context.Context, s Snapshot, out Outcome) error {
	var errs []error
	for i := range s.Partitions {
		p := &s.Partitions[i]
		if !slices.Contains(out.Orphans, p.Name) {
			continue
		}
		var node corev1.Node
		err := c.config.Live.Get(ctx, client.ObjectKey{Name: p.Name}, &node)
		if err == nil {
			continue
		}
		if !apierrors.IsNotFound(err) {
			errs = append(errs, fmt.Errorf("look for node %s: %w", p.Name, err))
			continue
		}
		if err := c.client.Delete(ctx, p, preconditions(p)); client.IgnoreNotFound(err) != nil {
			errs = append(errs, fmt.Errorf("delete node partition %s: %w", p.Name, err))
			continue
		}
		logr.FromContextOrDiscard(ctx).Info("Deleted node partition of a node that is gone", "node", p.Name)
	}
	return errors.Join(errs...)
}

// preconditions bind a deletion to the object that was seen.
func preconditions(object client.Object) client.Preconditions {
	uid, version := object.GetUID(), object.GetResourceVersion()
	return client.Preconditions{UID: &uid, ResourceVersion: &version}
}
