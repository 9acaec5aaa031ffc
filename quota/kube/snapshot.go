// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/quota"
	"aipub.io/aipub/quota/gate"
	"aipub.io/aipub/quota/placement"
)

// view is a snapshot, and the managed pods that are no matter of a decision.
type view struct {
	gate.Snapshot
	// unmanaged are the pods to open without a charge, in order.
	unmanaged []quota.Claim
	// lost are the pods that wait for a node that will not take them.
	lost []lostPod
	// turn counts the changes that it knows of.
	turn uint64
}

// snapshot gathers everything that a decision looks at.
func (m *model) snapshot(s cluster, now time.Time) view {
	m.mu.Lock()
	defer m.mu.Unlock()
	v := view{turn: m.turn, Snapshot: gate.Snapshot{
		Now: now, Quotas: s.quotas, Queues: s.queues, Sizes: s.sizes, Nodes: s.nodes,
	}}
	for _, e := range m.pods {
		m.sort(&v, s, e)
	}
	type dated struct {
		quota.Floor
		created time.Time
	}
	var floors []dated
	for _, w := range m.workloads {
		if f, ok := w.quotaFloor(m.autoscalers); ok && m.projects[w.Namespace] != "" {
			floors = append(floors, dated{f, w.created})
		}
	}
	slices.SortFunc(floors, func(a, b dated) int {
		return cmp.Or(a.created.Compare(b.created), cmp.Compare(a.Workload.UID, b.Workload.UID))
	})
	for _, f := range floors {
		v.Floors = append(v.Floors, f.Floor)
	}
	return v
}

// sort puts a pod where it belongs.
func (m *model) sort(v *view, s cluster, e *entry) {
	switch {
	case e.ended:
	case e.charged():
		v.Charged = append(v.Charged, gate.Charged{
			Claim: e.chargedClaim(), Grade: e.chargedGrade(), Node: e.place(), Bound: e.bound != "",
			Leaving: e.leaving, Unmanaged: !m.managed(e), Ask: e.ask,
		})
		if why := e.lost(s, v.Now); why != "" {
			v.lost = append(v.lost, lostPod{claim: e.claim, node: e.node, why: why})
		}
	case !e.waits() || v.Now.Before(e.retry):
	case !m.managed(e):
		v.unmanaged = append(v.unmanaged, e.claim)
	default:
		v.Pending = append(v.Pending, m.pending(e))
	}
}

func (e *entry) chargedClaim() quota.Claim {
	c := e.claim
	if e.assumed != nil {
		c.Since = e.assumed.intent.At
	}
	return c
}

func (e *entry) chargedGrade() quota.Grade {
	switch {
	case e.assumed != nil:
		return e.assumed.intent.Grade
	case e.grade == "":
		return quota.Within // opened by somebody else
	}
	return e.grade
}

func (m *model) pending(e *entry) gate.Pending {
	p := gate.Pending{Claim: e.claim, Ask: e.ask, Created: e.made}
	if w := m.workloads[e.claim.Workload.UID]; w != nil {
		p.Rank, p.Promoted, p.Created, p.Gang = w.rank, w.promoted, w.created, w.gang
	} else if e.claim.Workload.Kind == "Pod" {
		p.Rank, p.Promoted = e.rank, e.promoted
	}
	return p
}

// cluster is what decisions look at beside pods and workloads.
type cluster struct {
	quotas []api.ResourceSetQuota
	queues []api.PriorityQueue
	sizes  quota.Sizes
	nodes  []placement.Node
	// usable are the nodes that take new pods, by name.
	usable map[string]bool
}

// nodeCache keeps what was made of each node until it changes.
type nodeCache struct {
	known map[string]knownNode
}

type knownNode struct {
	node, partition string // resourceVersions
	made            placement.Node
	usable          bool
}

// readCluster lists quotas, queues, sets and nodes from a cache.
func readCluster(ctx context.Context, reader client.Reader, nodes *nodeCache) (cluster, error) {
	var quotas api.ResourceSetQuotaList
	var queues api.PriorityQueueList
	var sets api.ResourceSetList
	var partitions api.NodePartitionList
	var nodeList corev1.NodeList
	for _, list := range []client.ObjectList{&quotas, &queues, &sets, &partitions, &nodeList} {
		// Decisions change nothing, so a cache need not copy a whole cluster.
		if err := reader.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
			return cluster{}, fmt.Errorf("list %T: %w", list, err)
		}
	}
	c := cluster{quotas: quotas.Items, queues: queues.Items, sizes: quota.Sizes{}, usable: map[string]bool{}}
	for i := range sets.Items {
		c.sizes[sets.Items[i].Name] = quota.Units(sets.Items[i].Spec.GPUUnits)
	}
	slices.SortFunc(c.quotas, func(a, b api.ResourceSetQuota) int { return cmp.Compare(a.Name, b.Name) })
	c.nodes, c.usable = nodes.read(partitions.Items, nodeList.Items)
	return c, nil
}

func (n *nodeCache) read(partitions []api.NodePartition, nodes []corev1.Node) ([]placement.Node, map[string]bool) {
	byName := make(map[string]*corev1.Node, len(nodes))
	for i := range nodes {
		byName[nodes[i].Name] = &nodes[i]
	}
	known, usable := make(map[string]knownNode, len(partitions)), map[string]bool{}
	out := make([]placement.Node, 0, len(partitions))
	for i := range partitions {
		p := &partitions[i]
		node := byName[p.Name]
		if node == nil {
			continue
		}
		k, ok := n.known[p.Name]
		if !ok || k.node != node.ResourceVersion || k.partition != p.ResourceVersion {
			k = knownNode{node: node.ResourceVersion, partition: p.ResourceVersion,
				made: placement.NodeFrom(p, node), usable: takesPods(node)}
		}
		known[p.Name], usable[p.Name] = k, k.usable
		out = append(out, k.made)
	}
	n.known = known
	slices.SortFunc(out, func(a, b placement.Node) int { return cmp.Compare(a.Name, b.Name) })
	return out, usable
}

// takesPods reports whether the scheduler may put new pods on a node.
func takesPods(node *corev1.Node) bool {
	if node.Spec.Unschedulable || !node.DeletionTimestamp.IsZero() {
		return false
	}
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}
