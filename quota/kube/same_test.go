// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/quota/gate"
	"aipub.io/aipub/quota/objects"
)

// The loop sees objects one by one, without what its cache takes away. What the
// command line reads at once has to be the same, or it explains another decision.
func TestTheLoopAndTheCommandLineSeeTheSame(t *testing.T) {
	charged, pending, floors := 0, 0, 0
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // a test's world
		c, live := randomWorld(r), newModel()
		feed(t, live, c)
		now := time.Unix(5000, 0)
		want := objects.Snapshot(&c.Cluster, now)
		got := live.snapshot(cluster{quotas: want.Quotas, queues: want.Queues, sizes: want.Sizes, nodes: want.Nodes}, now).Snapshot
		slices.SortFunc(got.Charged, func(a, b gate.Charged) int { return cmp.Compare(a.Claim.UID, b.Claim.UID) })
		slices.SortFunc(got.Pending, func(a, b gate.Pending) int { return cmp.Compare(a.Claim.UID, b.Claim.UID) })
		requireSame(t, seed, "charged", got.Charged, want.Charged)
		requireSame(t, seed, "pending", got.Pending, want.Pending)
		requireSame(t, seed, "floors", got.Floors, want.Floors)
		charged, pending, floors = charged+len(want.Charged), pending+len(want.Pending), floors+len(want.Floors)
	}
	if charged == 0 || pending == 0 || floors == 0 {
		t.Fatalf("the worlds have %d charged, %d pending and %d floors: some are never compared", charged, pending, floors)
	}
}

func requireSame[T any](t *testing.T, seed uint64, what string, loop, command []T) {
	t.Helper()
	if len(loop) != len(command) {
		t.Fatalf("world %d: the loop sees %d %s, the command line %d", seed, len(loop), what, len(command))
	}
	for i := range loop {
		if !reflect.DeepEqual(loop[i], command[i]) {
			t.Fatalf("world %d: of what is %s, the loop sees\n%+v\nand the command line\n%+v", seed, what, loop[i], command[i])
		}
	}
}

// world is a cluster with the objects that its workloads were read from.
type world struct {
	objects.Cluster
	makers []maker
}

type maker struct {
	client.Object
	group, kind string
}

// feed shows a model all objects of a cluster, in any order, as its cache keeps them.
func feed(t *testing.T, m *model, w *world) {
	t.Helper()
	kept := func(strip func(any) (any, error), o runtime.Object) any {
		out, err := strip(o.DeepCopyObject())
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	watch := &Watch{model: m}
	for i := range w.Pods {
		watch.setPod(kept(stripPod, &w.Pods[i]))
	}
	for _, o := range w.makers {
		watch.setWorkload(kept(stripWorkload, o.Object), o.group, o.kind)
	}
	for i := range w.Scalers {
		watch.setAutoscaler(kept(stripWorkload, &w.Scalers[i]))
	}
	for i := range w.Namespaces {
		watch.setNamespace(kept(stripNamespace, &w.Namespaces[i]))
	}
}

// randomWorld has pods, workloads and namespaces of every kind that is told apart.
func randomWorld(r *rand.Rand) *world {
	w := &world{Cluster: objects.Cluster{Workloads: map[string]*objects.Workload{}}}
	namespaces := []string{"vision", "nlp", "web", metav1.NamespaceSystem}
	for _, name := range namespaces {
		ns := corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{}}}
		if name != "web" {
			ns.Labels[api.ProjectLabel] = name
		}
		w.Namespaces = append(w.Namespaces, ns)
	}
	pick := func(of ...string) string { return of[r.IntN(len(of))] }
	meta := func(name string) metav1.ObjectMeta {
		ns := pick(namespaces...)
		return metav1.ObjectMeta{
			Namespace: ns, Name: name, UID: types.UID("uid-" + name), ResourceVersion: "1",
			CreationTimestamp: metav1.Unix(1000+int64(r.IntN(5)), 0), Labels: map[string]string{"app": "x"},
			Annotations: map[string]string{
				api.ProjectAnnotation: ns, api.UserAnnotation: pick("", "ann"), api.RankAnnotation: pick("", "b"), api.PromotedAnnotation: pick("", "a"),
				api.TypeAnnotation: pick("", string(api.TypeJob), string(api.TypeOperation), string(api.TypeWorkspace)), "example.com/other": "y",
				api.MinReplicasAnnotation: pick("", "0", "2", "odd"), api.GangAnnotation: pick("", "all", "2"),
				api.OccupancyAnnotation: pick("", "odd", `{"expiresAt":"2026-11-30T12:00:00Z"}`),
			},
		}
	}
	count := func() *int32 {
		n := int32(r.IntN(4))
		return [...]*int32{nil, &n}[r.IntN(2)]
	}
	template := func() corev1.PodTemplateSpec {
		return corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{container("small", int64(r.IntN(3)), false), container("", 0, false)}}}
	}
	for i := range 6 {
		name := fmt.Sprint("w", i)
		switch r.IntN(4) {
		case 0:
			failed := pick("", "0", "0-1")
			w.makers = append(w.makers, maker{&batchv1.Job{ObjectMeta: meta(name), Spec: batchv1.JobSpec{Parallelism: count(), Completions: count()},
				Status: batchv1.JobStatus{FailedIndexes: &failed}}, "batch", "Job"})
		case 1:
			w.makers = append(w.makers, maker{&appsv1.Deployment{ObjectMeta: meta(name), Spec: appsv1.DeploymentSpec{Replicas: count(), Template: template()}}, "apps", "Deployment"})
		case 2:
			lab := &api.Workspace{ObjectMeta: meta(name)}
			if r.IntN(2) == 0 {
				expires := metav1.Unix(6000, 0)
				lab.Status.Occupancy = &api.Occupancy{ExpiresAt: &expires, Policy: "p"}
			}
			w.makers = append(w.makers, maker{lab, api.GroupVersion.Group, "Workspace"})
		default:
			w.makers = append(w.makers, maker{&appsv1.StatefulSet{ObjectMeta: meta(name), Spec: appsv1.StatefulSetSpec{Replicas: count(), Template: template()}}, "apps", "StatefulSet"})
		}
	}
	for _, o := range w.makers {
		w.Workloads[string(o.GetUID())] = objects.WorkloadOf(o.Object, o.group, o.kind)
		if r.IntN(3) == 0 {
			w.Scalers = append(w.Scalers, autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: metav1.ObjectMeta{Namespace: o.GetNamespace(), Name: o.GetName()},
				Spec: autoscalingv2.HorizontalPodAutoscalerSpec{ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{
					APIVersion: pick(o.group, "example.com") + "/v1", Kind: o.kind, Name: o.GetName()}, MinReplicas: count(), MaxReplicas: 2}})
		}
	}
	for i := range 20 {
		w.Pods = append(w.Pods, randomPod(r, meta(fmt.Sprintf("p%02d", i)), w.makers))
	}
	return w
}

func randomPod(r *rand.Rand, m metav1.ObjectMeta, makers []maker) corev1.Pod {
	p := corev1.Pod{ObjectMeta: m, Spec: corev1.PodSpec{
		InitContainers: []corev1.Container{container("small", int64(r.IntN(3)), r.IntN(2) == 0)},
		Containers:     []corev1.Container{container("small", int64(1+r.IntN(2)), false), container("", 0, false)},
		NodeSelector:   map[string]string{"pool": fmt.Sprint(r.IntN(2))}, ServiceAccountName: "default",
	}}
	if r.IntN(4) > 0 {
		o := makers[r.IntN(len(makers))]
		p.Namespace = o.GetNamespace()
		p.Annotations[api.WorkloadAnnotation] = fmt.Sprintf("%s/%s/%s/%s", o.group, o.kind, o.GetName(), o.GetUID())
		yes := true
		p.OwnerReferences = []metav1.OwnerReference{{Kind: o.kind, Name: o.GetName(), UID: o.GetUID(), Controller: &yes}}
	}
	if r.IntN(5) == 0 {
		now := metav1.Unix(2000, 0)
		p.DeletionTimestamp = &now
	}
	p.Status.Phase = [...]corev1.PodPhase{corev1.PodPending, corev1.PodPending, corev1.PodRunning, corev1.PodSucceeded, corev1.PodFailed}[r.IntN(5)]
	if r.IntN(2) == 0 {
		p.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "example.com/other"}, {Name: api.QuotaGate}}
		return p
	}
	p.Annotations[api.OpenedAnnotation] = [...]string{"", "Within", "Borrowed", api.ReasonUnmanaged}[r.IntN(4)]
	p.Annotations[api.NodeAnnotation] = [...]string{"", "n1"}[r.IntN(2)]
	p.Spec.NodeName = [...]string{"", "n2"}[r.IntN(2)]
	if r.IntN(2) == 0 {
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady}, {Type: api.ConditionAllocated, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Unix(1500, 0)}}
	}
	return p
}
