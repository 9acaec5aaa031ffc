// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func TestLimits(t *testing.T) {
	n := &Node{Name: "node-1", Labels: map[string]string{"zone": "a", "gen": "9"}, Taints: []corev1.Taint{
		{Key: "gpu", Value: "only", Effect: corev1.TaintEffectNoSchedule},
		{Key: "slow", Effect: corev1.TaintEffectPreferNoSchedule},
	}}
	tolerant := []corev1.Toleration{{Key: "gpu", Operator: corev1.TolerationOpExists}}
	need := func(key string, op corev1.NodeSelectorOperator, values ...string) corev1.NodeSelectorRequirement {
		return corev1.NodeSelectorRequirement{Key: key, Operator: op, Values: values}
	}
	labels := func(all ...corev1.NodeSelectorRequirement) corev1.NodeSelectorTerm {
		return corev1.NodeSelectorTerm{MatchExpressions: all}
	}
	fields := func(all ...corev1.NodeSelectorRequirement) corev1.NodeSelectorTerm {
		return corev1.NodeSelectorTerm{MatchFields: all}
	}
	affine := func(terms ...corev1.NodeSelectorTerm) *corev1.PodSpec {
		return &corev1.PodSpec{Tolerations: tolerant, Affinity: &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: terms}}}}
	}
	tolerating := func(t corev1.Toleration) *corev1.PodSpec {
		return &corev1.PodSpec{Tolerations: []corev1.Toleration{t}}
	}
	const selector, affinity, taint = "nodeSelector", "node affinity", "taint gpu=only:NoSchedule"
	for name, tc := range map[string]struct {
		pod     *corev1.PodSpec
		against string // "" if it may be there
	}{
		"no pod":                       {nil, ""},
		"a taint is not tolerated":     {&corev1.PodSpec{}, taint},
		"tolerated by key":             {tolerating(tolerant[0]), ""},
		"tolerated by value":           {tolerating(corev1.Toleration{Key: "gpu", Value: "only", Effect: corev1.TaintEffectNoSchedule}), ""},
		"another value":                {tolerating(corev1.Toleration{Key: "gpu", Value: "none"}), taint},
		"another effect":               {tolerating(corev1.Toleration{Key: "gpu", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute}), taint},
		"everything is tolerated":      {tolerating(corev1.Toleration{Operator: corev1.TolerationOpExists}), ""},
		"selector":                     {&corev1.PodSpec{Tolerations: tolerant, NodeSelector: map[string]string{"zone": "a"}}, ""},
		"another selector":             {&corev1.PodSpec{Tolerations: tolerant, NodeSelector: map[string]string{"zone": "b"}}, selector},
		"an empty value is not absent": {&corev1.PodSpec{Tolerations: tolerant, NodeSelector: map[string]string{"no": ""}}, selector},
		"another node by name":         {&corev1.PodSpec{Tolerations: tolerant, NodeName: "node-2"}, "another node"},
		"this node by name":            {&corev1.PodSpec{Tolerations: tolerant, NodeName: "node-1"}, ""},
		"in":                           {affine(labels(need("zone", corev1.NodeSelectorOpIn, "b", "a"))), ""},
		"not in":                       {affine(labels(need("zone", corev1.NodeSelectorOpNotIn, "b", "a"))), affinity},
		"not in what it has not":       {affine(labels(need("no", corev1.NodeSelectorOpNotIn, "b"))), ""},
		"exists":                       {affine(labels(need("gen", corev1.NodeSelectorOpExists))), ""},
		"does not exist":               {affine(labels(need("gen", corev1.NodeSelectorOpDoesNotExist))), affinity},
		"greater":                      {affine(labels(need("gen", corev1.NodeSelectorOpGt, "8"))), ""},
		"not less":                     {affine(labels(need("gen", corev1.NodeSelectorOpLt, "9"))), affinity},
		"all of a term":                {affine(labels(need("zone", corev1.NodeSelectorOpIn, "a"), need("gen", corev1.NodeSelectorOpIn, "8"))), affinity},
		"one of the terms":             {affine(labels(need("zone", corev1.NodeSelectorOpIn, "b")), labels(need("gen", corev1.NodeSelectorOpExists))), ""},
		"no term matches nothing":      {affine(), affinity},
		"an empty term too":            {affine(corev1.NodeSelectorTerm{}), affinity},
		"a malformed one too":          {affine(labels(need("zone", "Like", "a"))), affinity},
		"by the field of the name":     {affine(fields(need("metadata.name", corev1.NodeSelectorOpIn, "node-1"))), ""},
		"not by the name":              {affine(fields(need("metadata.name", corev1.NodeSelectorOpNotIn, "node-1"))), affinity},
		"by another field":             {affine(fields(need("spec.x", corev1.NodeSelectorOpIn, "node-1"))), affinity},
		"what is preferred is left to the scheduler": {&corev1.PodSpec{Tolerations: tolerant, Affinity: &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
			PreferredDuringSchedulingIgnoredDuringExecution: []corev1.PreferredSchedulingTerm{{Weight: 1, Preference: labels(need("zone", corev1.NodeSelectorOpIn, "b"))}}}}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := limitsOf(tc.pod).against(n)
			if (got == "") != (tc.against == "") || !strings.Contains(got, tc.against) {
				t.Errorf("%q, want %q", got, tc.against)
			}
		})
	}
}

// Refusals are remembered by the limits' key, so no two limits may share one.
func TestLimitsHaveTheirOwnKeys(t *testing.T) {
	selector := func(pairs ...string) *corev1.PodSpec {
		p := &corev1.PodSpec{NodeSelector: map[string]string{}}
		for k := 0; k < len(pairs); k += 2 {
			p.NodeSelector[pairs[k]] = pairs[k+1]
		}
		return p
	}
	seen := map[string]int{}
	for k, pod := range []*corev1.PodSpec{
		{}, {NodeName: "a"}, selector("a", "b"), selector("a", "bc"), selector("ab", "c"), selector("a", "b", "c", "d"),
		{Tolerations: []corev1.Toleration{{Key: "a", Value: "b"}}}, {Tolerations: []corev1.Toleration{{Key: "a", Value: "b"}, {Key: "c"}}},
		{Tolerations: []corev1.Toleration{{Key: "a", Operator: corev1.TolerationOpExists}}},
	} {
		key := limitsOf(pod).key
		if other, known := seen[key]; known {
			t.Errorf("pods %d and %d have the same key %q", k, other, key)
		}
		seen[key] = k
		if again := limitsOf(pod.DeepCopy()).key; again != key {
			t.Errorf("pod %d has the keys %q and %q", k, key, again)
		}
	}
}
