// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	api "aipub.io/aipub/api/v1alpha1"
)

func pod(name string, change ...func(*corev1.Pod)) corev1.Pod {
	p := corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "vision", Name: name, UID: types.UID(name), CreationTimestamp: metav1.Unix(100, 0), Annotations: map[string]string{api.ProjectAnnotation: "vision"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{asking("main", "small")}},
	}
	for _, c := range change {
		c(&p)
	}
	return p
}

func closed(p *corev1.Pod) {
	p.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: api.QuotaGate}}
}
func elsewhere(p *corev1.Pod) { p.Namespace = "web" }
func leaving(p *corev1.Pod)   { p.DeletionTimestamp = &metav1.Time{Time: time.Unix(300, 0)} }
func failed(p *corev1.Pod)    { p.Status.Phase = corev1.PodFailed }
func opened(grade string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Annotations[api.OpenedAnnotation] = grade }
}

// vision is managed, web is not any more.
func namespaces() []corev1.Namespace {
	return []corev1.Namespace{
		{ObjectMeta: metav1.ObjectMeta{Name: "vision", Labels: map[string]string{api.ProjectLabel: "vision"}}},
		{ObjectMeta: metav1.ObjectMeta{Name: "web"}},
		{ObjectMeta: metav1.ObjectMeta{Name: metav1.NamespaceSystem, Labels: map[string]string{api.ProjectLabel: "vision"}}},
	}
}

func TestWhereAPodBelongs(t *testing.T) {
	for name, tc := range map[string]struct {
		pod  corev1.Pod
		want string
	}{
		"its gate is closed":                     {pod("p", closed), "pending"},
		"closed, and being deleted":              {pod("p", closed, leaving), ""},
		"closed, and failed":                     {pod("p", closed, failed), ""},
		"closed, in no project":                  {pod("p", closed, elsewhere), ""},
		"closed, in the system's namespace":      {pod("p", closed, func(p *corev1.Pod) { p.Namespace = metav1.NamespaceSystem }), ""},
		"its gate is open":                       {pod("p", opened("Borrowed")), "Borrowed"},
		"somebody else opened it":                {pod("p"), "Within"},
		"open, and being deleted":                {pod("p", leaving), "Within leaving"},
		"open, and failed":                       {pod("p", failed), ""},
		"open, in no project any more":           {pod("p", elsewhere), "Within unmanaged"},
		"opened without a charge, managed since": {pod("p", opened(api.ReasonUnmanaged)), "Unmanaged"},
	} {
		s := Snapshot(&Cluster{Namespaces: namespaces(), Pods: []corev1.Pod{tc.pod}}, time.Unix(500, 0))
		var got []string
		for _, c := range s.Charged {
			got = append(got, string(c.Grade))
			if c.Leaving {
				got = append(got, "leaving")
			}
			if c.Unmanaged {
				got = append(got, "unmanaged")
			}
		}
		for range s.Pending {
			got = append(got, "pending")
		}
		if text := strings.Join(got, " "); text != tc.want {
			t.Errorf("%s: %q, want %q", name, text, tc.want)
		}
	}
}

func TestFloorsOfManagedNamespacesAlone(t *testing.T) {
	workloads := map[string]*Workload{}
	for i, namespace := range []string{"web", "vision", metav1.NamespaceSystem, "vision"} {
		d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: "serve", UID: types.UID(rune('a' + i)), CreationTimestamp: metav1.Unix(int64(100-i), 0),
			Annotations: map[string]string{api.ProjectAnnotation: "vision", api.TypeAnnotation: string(api.TypeOperation)},
		}}
		d.Spec.Template.Spec.Containers = []corev1.Container{asking("main", "small")}
		workloads[string(d.UID)] = WorkloadOf(d, "apps", "Deployment")
	}
	s := Snapshot(&Cluster{Namespaces: namespaces(), Workloads: workloads}, time.Unix(500, 0))
	var got []string
	for _, f := range s.Floors {
		got = append(got, f.Workload.UID)
	}
	if text := strings.Join(got, " "); text != "d b" {
		t.Errorf("floors of %q, want those of the project, the eldest first: d b", text)
	}
}

func TestAWaitingPodHasItsWorkloadsPlace(t *testing.T) {
	w := &Workload{Rank: "m", Promoted: "a", Created: time.Unix(50, 0), Gang: 3}
	ranked := func(p *corev1.Pod) { p.Annotations[api.RankAnnotation] = "z" }
	owned := func(p *corev1.Pod) { p.Annotations[api.WorkloadAnnotation] = "batch/Job/train/j" }
	for name, tc := range map[string]struct {
		pod   corev1.Pod
		rank  string
		made  int64
		gang  int
		known map[string]*Workload
	}{
		"the workload's":              {pod("p", closed, ranked, owned), "m", 50, 3, map[string]*Workload{"j": w}},
		"none of one that is unknown": {pod("p", closed, ranked, owned), "", 100, 0, nil},
		"its own when it is one":      {pod("p", closed, ranked), "z", 100, 0, nil},
	} {
		s := Snapshot(&Cluster{Namespaces: namespaces(), Pods: []corev1.Pod{tc.pod}, Workloads: tc.known}, time.Unix(500, 0))
		if len(s.Pending) != 1 {
			t.Errorf("%s: %d pods wait", name, len(s.Pending))
			continue
		}
		if p := s.Pending[0]; p.Rank != tc.rank || p.Created.Unix() != tc.made || p.Gang != tc.gang {
			t.Errorf("%s: rank %q, made %d, gang %d", name, p.Rank, p.Created.Unix(), p.Gang)
		}
	}
}

func TestEqualBoundsHaveOneAddress(t *testing.T) {
	on := func(pool string) func(*corev1.Pod) {
		return func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{"pool": pool} }
	}
	s := Snapshot(&Cluster{Namespaces: namespaces(), Pods: []corev1.Pod{pod("a", on("x")), pod("b", on("x")), pod("c", on("y"))}}, time.Unix(500, 0))
	if a, b, c := s.Charged[0].Ask.Pod, s.Charged[1].Ask.Pod, s.Charged[2].Ask.Pod; a != b || a == c || c.NodeSelector["pool"] != "y" {
		t.Error("equal bounds have two addresses, or different ones have one")
	}
}
