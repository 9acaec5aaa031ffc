// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"fmt"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/quota"
	"aipub.io/aipub/quota/gate"
	"aipub.io/aipub/quota/objects"
	"aipub.io/aipub/quota/placement"
)

// view is a snapshot, and the managed pods that are no matter of a decision.
type view struct {
	gate.Snapshot
	// unmanaged are the pods to open without a charge, in order.
	unmanaged []quota.Claim
	// lost are the pods that wait for what cannot come.
	lost []lostPod
	// turn counts the changes that it knows of.
	turn uint64
}

// snapshot gathers everything that a decision looks at.
func (m *model) snapshot(s cluster, now time.Time) view { return m.look(s, now, true) }

// charges is a snapshot of what is charged alone. With many that wait, they are most
// of a snapshot, and no book asks for them.
func (m *model) charges(s cluster, now time.Time) view { return m.look(s, now, false) }

func (m *model) look(s cluster, now time.Time, waiting bool) view {
	m.mu.Lock()
	defer m.mu.Unlock()
	v := view{turn: m.turn, Snapshot: gate.Snapshot{
		Now: now, Quotas: s.quotas, Queues: s.queues, Sizes: s.sizes, Nodes: s.nodes,
	}}
	charged, pending := 0, 0
	for _, e := range m.pods {
		if e.charged() {
			charged++
		} else if waiting && e.waits() {
			pending++
		}
	}
	v.Charged, v.Pending = make([]gate.Charged, 0, charged), make([]gate.Pending, 0, pending)
	for _, e := range m.pods {
		if waiting || e.charged() {
			m.sort(&v, s, e)
		}
	}
	v.Floors = objects.Floors(maps.Values(m.workloads), &m.autoscalers, m.projectOf)
	return v
}

// sort puts a pod where it belongs.
func (m *model) sort(v *view, s cluster, e *entry) {
	switch project := m.projectOf(e.Claim.Namespace); {
	case e.Ended:
	case e.charged():
		v.Charged = append(v.Charged, e.charge(project, m.workloads[e.Claim.Workload.UID], v.Now))
		if why := e.lost(s, v.Now); why != "" {
			v.lost = append(v.lost, lostPod{claim: e.Claim, node: e.Node, reason: api.ReasonNodeLost, why: why})
		}
	case !e.waits() || v.Now.Before(e.retry):
	case !e.Managed(project):
		v.unmanaged = append(v.unmanaged, e.Claim)
	default:
		v.Pending = append(v.Pending, e.pending(m.workloads[e.Claim.Workload.UID]))
	}
}

// cluster is what decisions look at beside pods and workloads.
type cluster struct {
	quotas []api.ResourceSetQuota
	queues []api.PriorityQueue
	sizes  quota.Sizes
	sets   map[string]*api.ResourceSetSpec
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
	c := cluster{quotas: quotas.Items, queues: queues.Items, sizes: objects.Sizes(sets.Items), sets: objects.SetSpecs(sets.Items)}
	objects.SortQuotas(c.quotas)
	c.nodes, c.usable = nodes.read(partitions.Items, nodeList.Items)
	return c, nil
}

func (n *nodeCache) read(partitions []api.NodePartition, nodes []corev1.Node) ([]placement.Node, map[string]bool) {
	known, usable := make(map[string]knownNode, len(partitions)), map[string]bool{}
	out := objects.Nodes(partitions, nodes, func(p *api.NodePartition, node *corev1.Node) placement.Node {
		k, ok := n.known[p.Name]
		if !ok || k.node != node.ResourceVersion || k.partition != p.ResourceVersion {
			k = knownNode{node: node.ResourceVersion, partition: p.ResourceVersion,
				made: placement.NodeFrom(p, node), usable: takesPods(node)}
		}
		known[p.Name], usable[p.Name] = k, k.usable
		return k.made
	})
	n.known = known
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
