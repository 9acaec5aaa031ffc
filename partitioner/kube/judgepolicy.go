// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "aipub.io/aipub/api/v1alpha1"
)

// maxRejections is what the schema of a policy's status has room for.
const maxRejections = 256

// maxMessage is what a condition's message has room for, with some to spare.
const maxMessage = 16 << 10

// policyStatus is what came of one policy.
func (sc *scene) policyStatus(p *pool) api.PartitionPolicyStatus {
	status := api.PartitionPolicyStatus{
		ObservedGeneration: p.policy.Generation,
		Nodes:              int32(len(p.selected)),
		Conditions:         slices.Clone(p.policy.Status.Conditions),
	}
	for _, c := range p.conflicts {
		status.Rejections = append(status.Rejections, c.Rejection)
	}
	status.Rejections = append(status.Rejections, p.division.Faults()...)
	if len(status.Rejections) > maxRejections {
		status.Rejections = status.Rejections[:maxRejections]
	}
	reason, message := sc.why(p)
	ready := metav1.Condition{
		Type: api.ConditionReady, Status: metav1.ConditionFalse, Reason: reason, Message: message,
		ObservedGeneration: p.policy.Generation, LastTransitionTime: sc.Now,
	}
	if reason == api.ReasonApplied {
		ready.Status = metav1.ConditionTrue
	}
	if len(ready.Message) > maxMessage {
		ready.Message = strings.ToValidUTF8(ready.Message[:maxMessage], "") + " …"
	}
	meta.SetStatusCondition(&status.Conditions, ready)
	return status
}

// why is the reason of the Ready condition: the first of these that holds, from
// what the administrator must mend to what only takes time.
func (sc *scene) why(p *pool) (reason, message string) {
	switch {
	case p.invalid != "":
		return api.ReasonInvalidPolicy, p.invalid
	case len(p.conflicts) > 0:
		first := p.conflicts[0].Rejection
		return first.Reason, first.Message
	case len(p.selected) == 0:
		return api.ReasonNoNodes, fmt.Sprintf("no node matches spec.nodeSelector (%s); label the nodes, for example with kubectl label node NAME KEY=VALUE",
			metav1.FormatLabelSelector(&p.policy.Spec.NodeSelector))
	case len(p.division.Rejections) > 0:
		first := p.division.Rejections[0]
		return first.Reason, first.Message
	case len(p.silent) > 0:
		return api.ReasonPending, fmt.Sprintf("waiting for the agents of %d of %d nodes to report what they have: %s; see that an aipub-node pod runs there",
			len(p.silent), len(p.governed), some(slices.Clone(p.silent), len(p.silent)))
	}
	if reason, message := sc.whyNotYet(p); reason != "" {
		return reason, message
	}
	message = fmt.Sprintf("applied to %d nodes", len(p.governed))
	if n := len(p.division.Faults()); n > 0 {
		message += fmt.Sprintf("; %d sets do not fit single nodes, see status.rejections", n)
	}
	return api.ReasonApplied, message
}

// whyNotYet says which node has not carried the policy out, and why.
func (sc *scene) whyNotYet(p *pool) (reason, message string) {
	var behind []string
	for i := range sc.Partitions {
		np := &sc.Partitions[i]
		if !slices.Contains(p.governed, np.Name) {
			continue
		}
		if np.Status.Policy != p.policy.Name || np.Status.PolicyGeneration < p.policy.Generation {
			behind = append(behind, np.Name)
			continue
		}
		ready := meta.FindStatusCondition(np.Status.Conditions, api.ConditionReady)
		if ready != nil && ready.Status != metav1.ConditionTrue && reason == "" {
			reason, message = ready.Reason, fmt.Sprintf("node %s: %s", np.Name, ready.Message)
		}
	}
	if reason == "" && len(behind) > 0 {
		slices.Sort(behind)
		return api.ReasonPending, fmt.Sprintf("%d of %d nodes have yet to carry out generation %d: %s",
			len(behind), len(p.governed), p.policy.Generation, strings.Join(behind[:min(len(behind), 5)], ", "))
	}
	return reason, message
}
