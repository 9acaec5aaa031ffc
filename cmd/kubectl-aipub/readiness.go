// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/gpu"
)

// Reasons that this plugin finds itself, beside those of the Ready condition.
const (
	reasonNoReport   = "NoReport"
	reasonNodeGone   = "NodeGone"
	reasonRebooted   = "Rebooted"
	reasonNodeDown   = "NodeNotReady"
	reasonUnknown    = "Unknown"
	reasonBehind     = "Behind"
	reasonNotOffered = "NotOffered"
	reasonCordoned   = "Cordoned"
)

// verdict says whether what is known of a node can be relied on and used.
type verdict struct {
	ready bool
	// reason is a typed word and sentence says why and what to do; both empty
	// when ready.
	reason, sentence string
}

func (v verdict) word() string {
	if v.ready {
		return "Ready"
	}
	return v.reason
}

func not(reason, format string, args ...any) verdict {
	return verdict{reason: reason, sentence: fmt.Sprintf(format, args...)}
}

// nodeView is one node as this plugin sees it: either may be missing.
type nodeView struct {
	name      string
	partition *api.NodePartition
	node      *corev1.Node
	// policies select the node by its labels now.
	policies []api.PartitionPolicy
	verdict  verdict
}

// judge says whether the node can be used, and if not, the first thing that
// stands in the way. nodesRead is false when the Nodes could not be read.
func judge(v nodeView, nodesRead bool) verdict {
	np := v.partition
	if nodesRead && v.node == nil {
		return not(reasonNodeGone, "node %s is not in the cluster any more; what is shown is the last report of its agent", v.name)
	}
	if np == nil {
		return judgeUnreported(v)
	}
	if bad := judgeNode(v); bad.reason != "" {
		return bad
	}
	if c := meta.FindStatusCondition(np.Status.Conditions, api.ConditionReady); c == nil {
		return not(reasonUnknown, "the agent of node %s has not said yet whether it is ready; %s", v.name, agentHint(v.name))
	} else if c.Status != metav1.ConditionTrue {
		return not(c.Reason, "node %s is not ready: %s", v.name, orElse(c.Message, c.Reason))
	}
	if p := v.policyInForce(); p != nil && p.Generation > np.Status.PolicyGeneration {
		return not(reasonBehind, "node %s still has generation %d of policy %s, which is at generation %d; %s",
			v.name, np.Status.PolicyGeneration, p.Name, p.Generation, agentHint(v.name))
	}
	if set := notOffered(v); set != "" {
		return not(reasonNotOffered, "the kubelet of node %s does not offer %s%s, although the node has some; %s",
			v.name, api.ResourcePrefix, set, agentHint(v.name))
	}
	if v.node != nil && v.node.Spec.Unschedulable {
		return not(reasonCordoned, "node %s is cordoned, so nothing new is scheduled there; end it with kubectl uncordon %s", v.name, v.name)
	}
	return verdict{ready: true}
}

// judgeNode says why the report of a node's agent may be out of date, if so.
func judgeNode(v nodeView) verdict {
	if v.node == nil {
		return verdict{}
	}
	if hasBootedSince(v) {
		return not(reasonRebooted, "node %s has booted since its agent last reported; %s", v.name, agentHint(v.name))
	}
	if c := nodeCondition(v.node, corev1.NodeReady); c != nil && c.Status != corev1.ConditionTrue {
		return not(reasonNodeDown, "the kubelet of node %s is not ready (%s) since %s; what is shown may be out of date",
			v.name, orElse(c.Reason, string(c.Status)), stamp(c.LastTransitionTime))
	}
	return verdict{}
}

func judgeUnreported(v nodeView) verdict {
	if len(v.policies) == 0 {
		return not(api.ReasonNoPolicy, "no PartitionPolicy selects node %s, and no agent has reported on it; label the node as the nodeSelector of a policy says", v.name)
	}
	return not(reasonNoReport, "policy %s selects node %s, but no agent has reported on it; %s", v.policies[0].Name, v.name, agentHint(v.name))
}

// hasBootedSince reports whether the agent's report is of an earlier boot. The
// kubelet and the agent may read the boot ID in different places, so IDs that
// differ count only if nothing was written since the node became ready; where
// the time of writing is not known, as in a file, they count alone.
func hasBootedSince(v nodeView) bool {
	now, reported := v.node.Status.NodeInfo.BootID, v.partition.Status.BootID
	if now == "" || reported == "" || now == reported {
		return false
	}
	var written metav1.Time
	for _, m := range v.partition.ManagedFields {
		if m.Time != nil && m.Time.After(written.Time) {
			written = *m.Time
		}
	}
	c := nodeCondition(v.node, corev1.NodeReady)
	return written.IsZero() || c == nil || written.Before(&c.LastTransitionTime)
}

func (v nodeView) policyInForce() *api.PartitionPolicy {
	for i := range v.policies {
		if v.policies[i].Name == v.partition.Status.Policy {
			return &v.policies[i]
		}
	}
	return nil
}

// notOffered is a set of which slices can be handed out while the kubelet has
// none on offer: the agent has stopped or is not registered.
func notOffered(v nodeView) string {
	if v.node == nil {
		return ""
	}
	for _, s := range v.partition.Status.Slices {
		if s.State != api.SliceState(gpu.StateFree) {
			continue
		}
		q := v.node.Status.Allocatable[corev1.ResourceName(api.ResourcePrefix+s.Set)]
		if q.IsZero() {
			return s.Set
		}
	}
	return ""
}

// selecting are the policies whose nodeSelector matches the node.
func selecting(policies []api.PartitionPolicy, node *corev1.Node) []api.PartitionPolicy {
	var out []api.PartitionPolicy
	for _, p := range policies {
		sel, err := metav1.LabelSelectorAsSelector(&p.Spec.NodeSelector)
		if err == nil && !sel.Empty() && sel.Matches(labels.Set(node.Labels)) {
			out = append(out, p)
		}
	}
	return out
}

func nodeCondition(n *corev1.Node, kind corev1.NodeConditionType) *corev1.NodeCondition {
	for i := range n.Status.Conditions {
		if n.Status.Conditions[i].Type == kind {
			return &n.Status.Conditions[i]
		}
	}
	return nil
}

func agentHint(node string) string {
	return fmt.Sprintf("look at its pod: kubectl -n %s get pods -o wide --field-selector spec.nodeName=%s", api.SystemNamespace, node)
}

func stamp(t metav1.Time) string { return t.UTC().Format("2006-01-02 15:04 MST") }

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}
