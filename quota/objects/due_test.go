// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "aipub.io/aipub/api/v1alpha1"
)

func TestWhenAPodIsDueBack(t *testing.T) {
	const noon = `{"expiresAt":"2026-11-30T12:00:00Z"}`
	at := metav1.NewTime(time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC))
	annotated := func(kind api.WorkloadType, occupancy string) *Workload {
		return WorkloadOf(&appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{
			api.TypeAnnotation: string(kind), api.OccupancyAnnotation: occupancy,
		}}}, "apps", "StatefulSet")
	}
	workspace := func(o *api.Occupancy) *Workload {
		return WorkloadOf(&api.Workspace{Status: api.WorkspaceStatus{Occupancy: o}}, api.GroupVersion.Group, "Workspace")
	}
	owned := func(p *corev1.Pod) { p.Annotations[api.WorkloadAnnotation] = "apps/StatefulSet/lab/w" }
	itself := func(p *corev1.Pod) {
		p.Annotations[api.TypeAnnotation], p.Annotations[api.OccupancyAnnotation] = string(api.TypeWorkspace), noon
	}
	for name, tc := range map[string]struct {
		pod      corev1.Pod
		workload *Workload
		due      bool
	}{
		"its Workspace says so":             {pod("p", owned), workspace(&api.Occupancy{ExpiresAt: &at}), true},
		"its Workspace has no limit":        {pod("p", owned), workspace(&api.Occupancy{}), false},
		"its Workspace has no clock yet":    {pod("p", owned), workspace(nil), false},
		"a StatefulSet of type Workspace":   {pod("p", owned), annotated(api.TypeWorkspace, noon), true},
		"another one, forged":               {pod("p", owned), annotated(api.TypeOperation, noon), false},
		"what cannot be read":               {pod("p", owned), annotated(api.TypeWorkspace, "soon"), false},
		"the pod is the workload":           {pod("p", itself), nil, true},
		"the pod copied it from its owner":  {pod("p", itself, owned), annotated(api.TypeWorkspace, ""), false},
		"its workload is not known, or has": {pod("p", owned), nil, false},
	} {
		known := map[string]*Workload{}
		if tc.workload != nil {
			known["w"] = tc.workload
		}
		s := Snapshot(&Cluster{Namespaces: namespaces(), Pods: []corev1.Pod{tc.pod}, Workloads: known}, at.Time)
		want := time.Time{}
		if tc.due {
			want = at.Time
		}
		if len(s.Charged) != 1 || !s.Charged[0].Claim.DueBack.Equal(want) {
			t.Errorf("%s: %+v, want it due at %s", name, s.Charged, want)
		}
	}
}
