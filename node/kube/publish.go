// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "aipub.io/aipub/api/v1alpha1"
)

// Publisher writes this node's NodePartition. It is not safe for concurrent use.
type Publisher struct {
	client client.Client
	node   string
	last   *api.NodePartition
	since  *since // nil before the first one was read
}

// NewPublisher writes through c for the named node. c must read from the API
// server, not from a cache: the publisher is the only writer and remembers what
// it wrote.
func NewPublisher(c client.Client, node string) *Publisher {
	return &Publisher{client: c, node: node}
}

// Publish makes the NodePartition's status equal to status; conditions without
// a transition time get the time of their last change of status, and slices that
// nobody holds keep their time across agents. It writes nothing when nothing changed since the last call. The object belongs to the
// Node with the given uid, so that it is collected with it; with an empty uid it
// is left without an owner.
func (p *Publisher) Publish(ctx context.Context, uid types.UID, status api.NodePartitionStatus) error {
	obj, err := p.object(ctx, uid)
	if err != nil {
		return err
	}
	if p.since == nil {
		p.since = sinceOf(obj.Status.Slices)
	}
	status.Slices = p.since.keep(status.Slices)
	status.Conditions = merged(obj.Status.Conditions, status.Conditions)
	if p.last != nil && equality.Semantic.DeepEqual(p.last.Status, status) {
		return nil
	}
	obj.Status = status
	if err := p.client.Status().Update(ctx, obj); err != nil {
		p.last = nil
		return fmt.Errorf("write node partition %s: %w", p.node, err)
	}
	p.last = obj
	return nil
}

// object returns what was last written, or what the API server has, or a new one.
func (p *Publisher) object(ctx context.Context, uid types.UID) (*api.NodePartition, error) {
	if p.last != nil {
		return p.last.DeepCopy(), nil
	}
	obj := &api.NodePartition{}
	err := p.client.Get(ctx, client.ObjectKey{Name: p.node}, obj)
	if err == nil {
		return obj, nil
	}
	if !apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("read node partition %s: %w", p.node, err)
	}
	obj = &api.NodePartition{ObjectMeta: metav1.ObjectMeta{Name: p.node}}
	if uid != "" {
		obj.OwnerReferences = []metav1.OwnerReference{{
			APIVersion: corev1.SchemeGroupVersion.String(), Kind: "Node", Name: p.node, UID: uid,
		}}
	}
	if err := p.client.Create(ctx, obj); err != nil {
		return nil, fmt.Errorf("create node partition %s: %w", p.node, err)
	}
	return obj, nil
}

// merged is what conditions become when the given ones are set in them.
func merged(old, set []metav1.Condition) []metav1.Condition {
	out := slices.Clone(old)
	for _, c := range set {
		meta.SetStatusCondition(&out, c)
	}
	return out
}
