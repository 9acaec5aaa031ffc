// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/gpu"
	nodekube "aipub.io/aipub/node/kube"
	"aipub.io/aipub/partitioner"
	partitionerkube "aipub.io/aipub/partitioner/kube"
)

// crowd is a world with people in it: namespaces, quotas, queues, workloads, pods.
type crowd struct {
	*world
	more []any
	pods []*corev1.Pod
	jobs []*batchv1.Job
	// quotas and queues are kept apart so that tests can change them.
	quotas []*api.ResourceSetQuota
	queues []*api.PriorityQueue
}

func (c *crowd) kubectl(t *testing.T, args ...string) string {
	t.Helper()
	return terminal(t, c.dump(t), append(args, "--offline", "-")...)
}

func (c *crowd) dump(t *testing.T) []byte {
	t.Helper()
	items := append(c.objects(), c.more...)
	for _, o := range c.pods {
		items = append(items, o)
	}
	for _, o := range c.jobs {
		items = append(items, o)
	}
	for _, o := range c.quotas {
		items = append(items, o)
	}
	for _, o := range c.queues {
		items = append(items, o)
	}
	raw, err := yaml.Marshal(map[string]any{"apiVersion": "v1", "kind": "List", "items": items})
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func typeMeta(version, kind string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: version, Kind: kind}
}

func (c *crowd) namespace(name, project string) {
	n := &corev1.Namespace{TypeMeta: typeMeta("v1", "Namespace"), ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: made}}
	if project != "" {
		n.Labels = map[string]string{api.ProjectLabel: project}
	}
	c.more = append(c.more, n)
}

func (c *crowd) queue(name string, spec api.PriorityQueueSpec) *api.PriorityQueue {
	q := &api.PriorityQueue{TypeMeta: typeMeta(api.GroupVersion.String(), "PriorityQueue"), ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: made}, Spec: spec}
	c.queues = append(c.queues, q)
	return q
}

func (c *crowd) quota(name string, spec api.ResourceSetQuotaSpec) *api.ResourceSetQuota {
	q := &api.ResourceSetQuota{TypeMeta: typeMeta(api.GroupVersion.String(), "ResourceSetQuota"), ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: made}, Spec: spec}
	c.quotas = append(c.quotas, q)
	return q
}

func minutesAgo(n int) metav1.Time { return metav1.NewTime(clock.Add(-time.Duration(n) * time.Minute)) }

// job makes a Job with pods that wait, as admission and the Job controller make
// them. The project is the namespace's name.
func (c *crowd) job(namespace, name, user string, minutes, pods int, set string, marks ...string) *batchv1.Job {
	j := &batchv1.Job{TypeMeta: typeMeta("batch/v1", "Job"), ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, Name: name, UID: types.UID("uid-" + name), CreationTimestamp: minutesAgo(minutes), ResourceVersion: "7",
		Annotations: stamps(namespace, user, api.TypeJob),
	}}
	for _, m := range marks {
		key, value, _ := strings.Cut(m, "=")
		j.Annotations[key] = value
	}
	c.jobs = append(c.jobs, j)
	for i := range pods {
		p := c.pod(namespace, fmt.Sprintf("%s-%d", name, i), user, minutes, set)
		p.Annotations[api.WorkloadAnnotation] = fmt.Sprintf("batch/Job/%s/%s", name, j.UID)
		yes := true
		p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "Job", Name: name, UID: j.UID, Controller: &yes}}
	}
	return j
}

func stamps(project, user string, kind api.WorkloadType) map[string]string {
	return map[string]string{api.ProjectAnnotation: project, api.UserAnnotation: user, api.TypeAnnotation: string(kind)}
}

// pod makes a bare pod that waits.
func (c *crowd) pod(namespace, name, user string, minutes int, set string) *corev1.Pod {
	p := plainPod(namespace, name, minutes)
	p.Labels = map[string]string{api.SetLabel: set}
	p.Annotations = stamps(namespace, user, api.TypeJob)
	p.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: api.QuotaGate}}
	p.Spec.Containers[0].Resources.Limits = corev1.ResourceList{corev1.ResourceName(api.ResourcePrefix + set): resource.MustParse("1")}
	c.pods = append(c.pods, p)
	return p
}

func plainPod(namespace, name string, minutes int) *corev1.Pod {
	return &corev1.Pod{
		TypeMeta: typeMeta("v1", "Pod"),
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: name, UID: types.UID("pod-" + namespace + "-" + name), ResourceVersion: "9", CreationTimestamp: minutesAgo(minutes),
		},
		Spec:   corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "train:1"}}},
		Status: corev1.PodStatus{Phase: corev1.PodPending},
	}
}

// open opens a pod's gate as the controller does.
func open(p *corev1.Pod, node, grade string) {
	p.Spec.SchedulingGates = nil
	p.Annotations[api.OpenedAnnotation], p.Annotations[api.NodeAnnotation] = grade, node
	say(p, api.ConditionAllocated, corev1.ConditionTrue, api.ReasonOpened, "its gate is open, on node "+node)
}

// run puts an open pod on its node, where it runs.
func run(p *corev1.Pod, node string) {
	p.Spec.NodeName, p.Status.Phase = node, corev1.PodRunning
	say(p, corev1.PodScheduled, corev1.ConditionTrue, "", "")
	say(p, corev1.PodReady, corev1.ConditionTrue, "", "")
	p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: minutesAgo(20)}}}}
}

func say(p *corev1.Pod, kind corev1.PodConditionType, status corev1.ConditionStatus, reason, message string) {
	p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{
		Type: kind, Status: status, Reason: reason, Message: message, LastTransitionTime: minutesAgo(20),
	})
}

func amount(s string) *resource.Quantity {
	q := resource.MustParse(s)
	return &q
}

// crowded is busyWorld with two projects: vision, at its limit of three small sets,
// and nlp, which has the lower priority and waits for one set that does not exist.
func crowded(t *testing.T) *crowd {
	t.Helper()
	c := &crowd{world: busyWorld(t)}
	c.countShares()
	c.namespace("vision", "vision")
	c.namespace("nlp", "nlp")
	c.namespace("web", "")
	c.queue("vision", api.PriorityQueueSpec{Priority: 10})
	c.queue("nlp", api.PriorityQueueSpec{Policy: api.FirstScheduling})
	c.quotaObjects()
	for i, user := range []string{"ann", "bob"} {
		p := c.pod("vision", fmt.Sprintf("run-%d", i), user, 90, "small")
		open(p, "gpu-01", "Within")
		run(p, "gpu-01")
	}
	c.hold("gpu-01", "small", 1, api.Holder{Namespace: "vision", Pod: "run-0", Container: "main"})
	c.job("vision", "train-a", "ann", 50, 2, "small")
	c.job("vision", "train-b", "bob", 40, 1, "small")
	c.job("vision", "train-c", "cho", 30, 1, "medium")
	c.job("nlp", "tune", "dan", 60, 1, "huge")
	c.job("nlp", "embed", "dan", 20, 1, "small")
	c.pod("nlp", "probe", "eve", 10, "small")
	say(c.pods[2], api.ConditionAllocated, corev1.ConditionFalse, api.ReasonProjectQuotaReached, "project vision has 2 of 2 sets small in use")
	return c
}

// countShares gives NodePartitions the counters that agents report.
func (c *crowd) countShares() {
	for i := range c.partitions.Items {
		np := &c.partitions.Items[i]
		n := c.node(np.Name)
		var sets []partitioner.Set
		for _, s := range c.sets.Items {
			sets = append(sets, partitioner.SetOf(s.Name, s.Spec))
		}
		layout, _ := partitioner.Plan(partitionerkube.FromNodePartition(np, n.Status.Allocatable), c.policies.Items[0].Spec, sets)
		np.Status.Counters = nodekube.Counters(gpu.Snapshot{Slices: statuses(layout.Slices), Totals: layout.Totals})
	}
}

func statuses(slices []gpu.Slice) []gpu.Status {
	out := make([]gpu.Status, len(slices))
	for i, s := range slices {
		out[i].Slice = s
	}
	return out
}

func (c *crowd) quotaObjects() {
	q := c.quota("vision", api.ResourceSetQuotaSpec{
		Scope: api.QuotaScope{Project: "vision"},
		Limits: api.QuotaLimits{SetLimits: api.SetLimits{Sets: map[string]int32{"small": 2}, GPU: amount("2.5")},
			ByType: map[api.WorkloadType]api.SetLimits{api.TypeWorkspace: {GPU: amount("500m")}}},
	})
	due := metav1.NewTime(clock.Add(25 * time.Minute))
	q.Status = api.ResourceSetQuotaStatus{
		Used:    api.SetAmounts{Sets: map[string]int32{"small": 2}, GPU: amount("500m"), Pods: 2},
		Waiting: api.SetAmounts{Sets: map[string]int32{"small": 3, "medium": 1}, GPU: amount("1250m"), Pods: 4},
		Users: []api.UserAmounts{
			{User: "ann", Used: api.SetAmounts{Sets: map[string]int32{"small": 1}, GPU: amount("250m"), Pods: 1}, Waiting: api.SetAmounts{Sets: map[string]int32{"small": 2}, GPU: amount("500m"), Pods: 2}},
			{User: "bob", Used: api.SetAmounts{Sets: map[string]int32{"small": 1}, GPU: amount("250m"), Pods: 1}},
		},
		Holders: []api.QuotaHolder{
			{User: "ann", Namespace: "vision", Kind: "Pod", Name: "run-0", Type: api.TypeWorkspace, Held: api.SetAmounts{Sets: map[string]int32{"small": 1}, GPU: amount("250m"), Pods: 1}, Since: minutesAgo(90), DueBack: &due},
			{User: "bob", Namespace: "vision", Kind: "Pod", Name: "run-1", Type: api.TypeJob, Held: api.SetAmounts{Sets: map[string]int32{"small": 1}, GPU: amount("250m"), Pods: 1}, Since: minutesAgo(90)},
		},
		Conditions: []metav1.Condition{{Type: api.ConditionOverQuota, Status: metav1.ConditionTrue, Reason: api.ReasonOverLimit,
			Message: "2 sets small are held and 1 is allowed; nothing ends, and nothing new fits"}},
	}
	e := c.quota("vision-each", api.ResourceSetQuotaSpec{
		Scope: api.QuotaScope{Project: "vision", EachUser: true}, Limits: api.QuotaLimits{SetLimits: api.SetLimits{GPU: amount("1")}},
		Borrowing: &api.Borrowing{},
	})
	e.Status.Users = q.Status.Users
	c.quota("dan", api.ResourceSetQuotaSpec{Scope: api.QuotaScope{User: "dan"}, Limits: api.QuotaLimits{SetLimits: api.SetLimits{Sets: map[string]int32{"large": 0}}}})
	volumes := int32(20)
	c.more = append(c.more, &api.StorageQuota{TypeMeta: typeMeta(api.GroupVersion.String(), "StorageQuota"), ObjectMeta: metav1.ObjectMeta{Name: "vision"},
		Spec:   api.StorageQuotaSpec{Scope: api.QuotaScope{Project: "vision"}, Limits: api.StorageLimits{Total: amount("2Ti"), PerStorageClass: map[string]resource.Quantity{"fast": resource.MustParse("500Gi")}, Volumes: &volumes}},
		Status: api.StorageQuotaStatus{Used: api.StorageAmounts{Total: amount("300Gi"), Volumes: 3}, Reserved: api.StorageAmounts{Total: amount("10Gi"), Volumes: 1}}})
}

// deployment makes an Operation of which one replica is guaranteed, without pods.
func (c *crowd) deployment(namespace, name, user string, replicas int32, set string) *appsv1.Deployment {
	d := &appsv1.Deployment{TypeMeta: typeMeta("apps/v1", "Deployment"), ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, Name: name, UID: types.UID("uid-" + name), CreationTimestamp: minutesAgo(100), ResourceVersion: "3",
		Annotations: stamps(namespace, user, api.TypeOperation),
	}, Spec: appsv1.DeploymentSpec{Replicas: &replicas}}
	d.Spec.Template.Spec.Containers = []corev1.Container{{Name: "main", Resources: corev1.ResourceRequirements{
		Limits: corev1.ResourceList{corev1.ResourceName(api.ResourcePrefix + set): resource.MustParse("1")},
	}}}
	c.more = append(c.more, d)
	return d
}
