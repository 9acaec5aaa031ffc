// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/quota/objects"
)

func container(set string, n int64, sidecar bool) corev1.Container {
	c := corev1.Container{Name: "c"}
	if n > 0 {
		c.Resources.Limits = corev1.ResourceList{corev1.ResourceName(api.ResourcePrefix + set): *resource.NewQuantity(n, resource.DecimalSI)}
	}
	if sidecar {
		always := corev1.ContainerRestartPolicyAlways
		c.RestartPolicy = &always
	}
	return c
}

func TestWhatAPodHoldsOfEachSet(t *testing.T) {
	for name, tc := range map[string]struct {
		init, main []corev1.Container
		want       map[string]int64
	}{
		"containers add up":                   {nil, []corev1.Container{container("a", 1, false), container("a", 2, false), container("b", 1, false)}, map[string]int64{"a": 3, "b": 1}},
		"init containers hand theirs on":      {[]corev1.Container{container("a", 2, false), container("a", 3, false)}, []corev1.Container{container("a", 1, false)}, map[string]int64{"a": 3}},
		"sidecars stay":                       {[]corev1.Container{container("a", 1, true)}, []corev1.Container{container("a", 1, false)}, map[string]int64{"a": 2}},
		"an init container beside a sidecar":  {[]corev1.Container{container("a", 1, true), container("a", 2, false)}, []corev1.Container{container("a", 1, false)}, map[string]int64{"a": 3}},
		"only an init container asks":         {[]corev1.Container{container("b", 2, false)}, []corev1.Container{container("a", 0, false)}, map[string]int64{"b": 2}},
		"nobody asks":                         {nil, []corev1.Container{container("a", 0, false)}, map[string]int64{}},
		"a sidecar that comes after an init":  {[]corev1.Container{container("a", 2, false), container("a", 1, true)}, []corev1.Container{container("a", 1, false)}, map[string]int64{"a": 2}},
		"what the cache keeps says the same":  {[]corev1.Container{container("a", 1, true), container("", 0, false)}, []corev1.Container{container("a", 1, false), container("", 0, false)}, map[string]int64{"a": 2}},
		"another resource of ours is no set.": {nil, []corev1.Container{{Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{"aipub.io/other": resource.MustParse("1")}}}}, map[string]int64{}},
	} {
		pod := &corev1.Pod{Spec: corev1.PodSpec{InitContainers: tc.init, Containers: tc.main}}
		if got := objects.Sets(&pod.Spec); !maps.Equal(got, tc.want) {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
		stripped, err := stripPod(pod)
		if err != nil {
			t.Fatal(err)
		}
		if got := objects.Sets(&stripped.(*corev1.Pod).Spec); !maps.Equal(got, tc.want) { //nolint:forcetypeassert // a pod went in
			t.Errorf("%s, as the cache keeps it: %v, want %v", name, got, tc.want)
		}
	}
}

func TestAffinityIsOnlyTightened(t *testing.T) {
	term := func(keys ...string) corev1.NodeSelectorTerm {
		var out corev1.NodeSelectorTerm
		for _, k := range keys {
			out.MatchExpressions = append(out.MatchExpressions, corev1.NodeSelectorRequirement{Key: k, Operator: corev1.NodeSelectorOpExists})
		}
		return out
	}
	for name, tc := range map[string]struct {
		terms []corev1.NodeSelectorTerm
		want  string
	}{
		"none":                             {nil, "n1"},
		"each term":                        {[]corev1.NodeSelectorTerm{term("a"), term("b", "c")}, "a+n1 b,c+n1"},
		"an empty one, which matches none": {[]corev1.NodeSelectorTerm{{}, term("a")}, " a+n1"},
	} {
		s := sending{intent: intent{Node: "n1", UID: "u"}, owned: true}
		if tc.terms != nil {
			s.affinity = &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: tc.terms}}
		}
		raw, err := s.patch()
		if err != nil {
			t.Fatal(err)
		}
		var pod corev1.Pod
		if err := json.Unmarshal(raw, &pod); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, term := range pod.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
			var keys []string
			for _, e := range term.MatchExpressions {
				keys = append(keys, e.Key)
			}
			text := strings.Join(keys, ",")
			for _, f := range term.MatchFields {
				if text != "" {
					text += "+"
				}
				text += fmt.Sprint(f.Values[0])
			}
			got = append(got, text)
		}
		if text := strings.Join(got, " "); text != tc.want {
			t.Errorf("%s: %q, want %q", name, text, tc.want)
		}
	}
}

func TestAPodThatWentStaysGone(t *testing.T) {
	m := newModel()
	pod := gatedPod("vision", "alice", "a")
	pod.UID, pod.ResourceVersion = "u", "5"
	m.apply(pod)
	m.remove("u")
	late := pod.DeepCopy()
	late.ResourceVersion = "9" // an answer that was on its way
	m.apply(late)
	if len(m.pods) != 0 {
		t.Error("a late answer brought a pod back, which nothing would ever end")
	}
}

func TestAnOlderSightIsNotTakenForTheLatest(t *testing.T) {
	m := newModel()
	m.projects["vision"] = "vision"
	pod := gatedPod("vision", "alice", "a")
	pod.UID, pod.ResourceVersion = "u", "9"
	open := pod.DeepCopy()
	open.ResourceVersion, open.Spec.SchedulingGates = "10", nil
	m.apply(pod)
	m.apply(open)
	m.apply(pod)
	if !m.pods["u"].charged() {
		t.Error("a pod that was seen open counts as closed by an older sight of it")
	}
	if !newer("100", "99") || newer("99", "100") || newer("99", "99") {
		t.Error("versions are compared as texts")
	}
}

func TestAnAssumptionLastsUntilItIsAnswered(t *testing.T) {
	m := newModel()
	m.projects["vision"] = "vision"
	pod := gatedPod("vision", "alice", "a")
	pod.UID, pod.ResourceVersion = "u", "1"
	m.apply(pod)
	claim := m.pods["u"].Claim
	if _, ok := m.assume(claim, intent{UID: "u"}); !ok {
		t.Fatal("not assumed")
	}
	if _, again := m.assume(claim, intent{UID: "u"}); again {
		t.Error("assumed twice")
	}
	meddled := pod.DeepCopy()
	meddled.ResourceVersion = "2"
	m.apply(meddled)
	if !m.pods["u"].charged() {
		t.Error("a change by somebody else ended the assumption")
	}
	m.doubt("u")
	if len(m.doubted()) != 1 {
		t.Error("a doubt was forgotten")
	}
	touched := pod.DeepCopy()
	touched.ResourceVersion = "3"
	m.settled(touched)
	if m.pods["u"].charged() || len(m.doubted()) != 0 {
		t.Error("a touch that shows a closed gate did not settle it")
	}
}
