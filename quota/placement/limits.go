// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
)

// limits say on which nodes a pod may be, by the rules of the scheduler (nodeName,
// nodeSelector, required node affinity, taints of effect NoSchedule and NoExecute).
type limits struct {
	pod *corev1.PodSpec // nil: anywhere
	// key is the same for pods with the same limits.
	key string
	// terms are the required node affinity: one must match. nil: no affinity.
	terms []term
}

// term matches when all of its requirements do; one without any matches nothing.
type term struct {
	labels labels.Requirements
	names  []nameRule
	never  bool // it is empty, or a requirement is malformed
}

// nameRule is a requirement on metadata.name. Names can be longer than labels.
type nameRule struct {
	in    bool
	names []string
}

func limitsOf(pod *corev1.PodSpec) limits {
	if pod == nil {
		return limits{}
	}
	l := limits{pod: pod, key: keyOf(pod)}
	if required := requiredOf(pod); required != nil {
		l.terms = []term{}
		for _, t := range required.NodeSelectorTerms {
			l.terms = append(l.terms, termOf(t))
		}
	}
	return l
}

func requiredOf(pod *corev1.PodSpec) *corev1.NodeSelector {
	if pod.Affinity == nil || pod.Affinity.NodeAffinity == nil {
		return nil
	}
	return pod.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution
}

func termOf(t corev1.NodeSelectorTerm) term {
	out := term{never: len(t.MatchExpressions)+len(t.MatchFields) == 0}
	for _, e := range t.MatchExpressions {
		r, err := requirementOf(e)
		if err != nil {
			return term{never: true}
		}
		out.labels = append(out.labels, *r)
	}
	for _, f := range t.MatchFields {
		in := f.Operator == corev1.NodeSelectorOpIn
		if f.Key != metav1.ObjectNameField || !in && f.Operator != corev1.NodeSelectorOpNotIn {
			return term{never: true}
		}
		out.names = append(out.names, nameRule{in, f.Values})
	}
	return out
}

var operators = map[corev1.NodeSelectorOperator]selection.Operator{
	corev1.NodeSelectorOpIn: selection.In, corev1.NodeSelectorOpNotIn: selection.NotIn,
	corev1.NodeSelectorOpExists: selection.Exists, corev1.NodeSelectorOpDoesNotExist: selection.DoesNotExist,
	corev1.NodeSelectorOpGt: selection.GreaterThan, corev1.NodeSelectorOpLt: selection.LessThan,
}

func requirementOf(r corev1.NodeSelectorRequirement) (*labels.Requirement, error) {
	out, err := labels.NewRequirement(r.Key, operators[r.Operator], r.Values)
	if err != nil {
		return nil, fmt.Errorf("read requirement on %s: %w", r.Key, err)
	}
	return out, nil
}

// against says in a few words why the pod may not be on a node; nothing if it may.
func (l limits) against(n *Node) string {
	if l.pod == nil {
		return ""
	}
	if name := l.pod.NodeName; name != "" && name != n.Name {
		return "the pod names another node"
	}
	for key, value := range l.pod.NodeSelector {
		if have, ok := n.Labels[key]; !ok || have != value {
			return "it does not match the pod's nodeSelector"
		}
	}
	if l.terms != nil && !slices.ContainsFunc(l.terms, func(t term) bool { return t.matches(n) }) {
		return "it does not match the pod's node affinity"
	}
	for i := range n.Taints {
		if !tolerated(l.pod.Tolerations, &n.Taints[i]) {
			return fmt.Sprintf("the pod does not tolerate its taint %s", n.Taints[i].ToString())
		}
	}
	return ""
}

func (t term) matches(n *Node) bool {
	if t.never {
		return false
	}
	for i := range t.labels {
		if !t.labels[i].Matches(labels.Set(n.Labels)) {
			return false
		}
	}
	return !slices.ContainsFunc(t.names, func(r nameRule) bool { return slices.Contains(r.names, n.Name) != r.in })
}

func tolerated(tolerations []corev1.Toleration, taint *corev1.Taint) bool {
	if taint.Effect != corev1.TaintEffectNoSchedule && taint.Effect != corev1.TaintEffectNoExecute {
		return true
	}
	return slices.ContainsFunc(tolerations, func(t corev1.Toleration) bool {
		return t.ToleratesTaint(logr.Discard(), taint, true)
	})
}

// keyOf writes down everything that limits look at.
func keyOf(pod *corev1.PodSpec) string {
	var b strings.Builder
	put := func(words ...string) {
		for _, w := range words {
			fmt.Fprintf(&b, "%d:%s", len(w), w)
		}
		b.WriteByte('\n')
	}
	put(pod.NodeName)
	for _, key := range slices.Sorted(maps.Keys(pod.NodeSelector)) {
		put(key, pod.NodeSelector[key])
	}
	if required := requiredOf(pod); required != nil {
		for _, t := range required.NodeSelectorTerms {
			put("term")
			for _, e := range t.MatchExpressions {
				put(append([]string{"label", e.Key, string(e.Operator)}, e.Values...)...)
			}
			for _, f := range t.MatchFields {
				put(append([]string{"field", f.Key, string(f.Operator)}, f.Values...)...)
			}
		}
	}
	for _, t := range pod.Tolerations {
		put("tolerates", t.Key, string(t.Operator), t.Value, string(t.Effect))
	}
	return b.String()
}
