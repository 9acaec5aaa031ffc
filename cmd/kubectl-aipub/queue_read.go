// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/quota"
	"aipub.io/aipub/quota/gate"
	"aipub.io/aipub/quota/objects"
	"aipub.io/aipub/quota/queue"
)

// waiter is a workload with pods that wait.
type waiter struct {
	queue.Item
	pods  []*corev1.Pod // those that wait, eldest first
	since time.Time     // when the eldest was made
	// workload is what its object says; nil when that is the pod, or was not found.
	workload *objects.Workload
	// version is the resourceVersion of that object or pod; empty when not found.
	version string
}

// queues are all queues of a cluster as its pods and workloads make them.
type queues struct {
	pods    []corev1.Pod // all managed ones
	objects []api.PriorityQueue
	waiters map[quota.Workload]*waiter
	// order is that of all projects' waiting workloads.
	order []queue.Item
	// now is what the pure decision says of each waiting pod, by UID; nil when what
	// it looks at cannot be read. opens are those whose gate it would open.
	now   map[string]gate.Waiting
	opens map[string]gate.Opening
	heads map[string]gate.Head
	// sets are the sizes that sets have now; nil like now.
	sets  map[string]*api.ResourceSetSpec
	notes []string
}

// readQueues reads pods and workloads, which it must, and what the decision looks
// at, without which the reasons are those that the controller has written.
func (a *app) readQueues(ctx context.Context, from lister) (*queues, error) {
	var pods corev1.PodList
	if err := listManagedPods(ctx, from, &pods); err != nil {
		return nil, err
	}
	q := &queues{pods: pods.Items, waiters: map[quota.Workload]*waiter{}}
	var objects api.PriorityQueueList
	if err := from.List(ctx, &objects); err != nil {
		q.note(ctx, "the order among projects is without their priorities", err)
	}
	q.objects = objects.Items
	q.gather()
	if err := q.readWorkloads(ctx, from, a.config.ToRESTMapper); err != nil {
		return nil, err
	}
	load := func(string) float64 { return 0 }
	snapshot, err := q.snapshot(ctx, from, a.now())
	if err != nil {
		q.note(ctx, "the reasons are those that the controller wrote last, and the order among projects is without what they use", err)
	} else {
		load = snapshot.Book().Load
		q.decide(*snapshot)
	}
	q.sortAll(load)
	return q, ctx.Err()
}

// sortAll works out the order of all projects' waiting workloads.
func (q *queues) sortAll(load func(project string) float64) {
	items := make([]queue.Item, 0, len(q.waiters))
	for _, w := range q.waiters {
		items = append(items, w.Item)
	}
	q.order = queue.Order(items, q.settings, load)
}

func (q *queues) note(ctx context.Context, what string, err error) {
	if ctx.Err() == nil {
		q.notes = append(q.notes, fmt.Sprintf("%s: %v", what, explain(err)))
	}
}

func (q *queues) settings(project string) queue.Settings {
	for i := range q.objects {
		if q.objects[i].Name == project {
			return queue.SettingsOf(&q.objects[i])
		}
	}
	return queue.SettingsOf(nil)
}

// gather puts the waiting pods to their workloads.
func (q *queues) gather() {
	for i := range q.pods {
		p := &q.pods[i]
		if !objects.Waits(p) {
			continue
		}
		c := objects.ClaimOf(p)
		w := q.waiters[c.Workload]
		if w == nil {
			w = &waiter{Item: queue.Item{Workload: c.Workload, Party: c.Party}}
			q.waiters[c.Workload] = w
		}
		w.pods = append(w.pods, p)
	}
	for _, w := range q.waiters {
		slices.SortFunc(w.pods, func(a, b *corev1.Pod) int {
			return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), queue.CompareNames(a.Name, b.Name))
		})
		w.since = w.pods[0].CreationTimestamp.Time
		w.Created = w.since
		if w.Workload.Kind == "Pod" && w.Workload.Group == "" {
			w.read(&w.pods[0].ObjectMeta)
		}
	}
}

// read takes a waiter's place in the order from its workload.
func (w *waiter) read(m *metav1.ObjectMeta) *objects.Workload {
	is := objects.WorkloadOf(m, w.Workload.Group, w.Workload.Kind)
	w.Rank, w.Promoted, w.Created, w.version = is.Rank, is.Promoted, is.Created, m.ResourceVersion
	return is
}

// readWorkloads reads the metadata of the workloads that wait. Without it the order
// would be wrong without anybody knowing, so a kind that cannot be read is an error.
func (q *queues) readWorkloads(ctx context.Context, from lister, find mapper) error {
	kinds := map[schema.GroupKind]bool{}
	for w := range q.waiters {
		if kind := (schema.GroupKind{Group: w.Group, Kind: w.Kind}); kind != (schema.GroupKind{Kind: "Pod"}) {
			kinds[kind] = true
		}
	}
	for kind := range kinds {
		all, err := listMetadata(ctx, from, kind, find)
		if err != nil {
			return err
		}
		for i := range all {
			m := &all[i]
			w := q.waiters[quota.Workload{Group: kind.Group, Kind: kind.Kind, Namespace: m.Namespace, Name: m.Name, UID: string(m.UID)}]
			if w != nil {
				w.workload = w.read(m)
			}
		}
	}
	return nil
}

// errNothingToDecideOn says that a decision would be about an empty cluster, as in
// a file that has only pods.
var errNothingToDecideOn = errors.New("there are no nodes, sets or NodePartitions to decide on")

// decide asks the decision that opens gates what it would do now.
func (q *queues) decide(s gate.Snapshot) {
	plan := gate.Decide(s, len(s.Pending)+1)
	q.heads = plan.Heads
	q.now, q.opens = map[string]gate.Waiting{}, map[string]gate.Opening{}
	for _, w := range plan.Wait {
		q.now[w.Claim.UID] = w
	}
	for _, o := range plan.Open {
		q.opens[o.Claim.UID] = o
	}
}

// ofProject are the items of one project's queue, in order.
func (q *queues) ofProject(project string) []queue.Item { return q.byProject()[project] }

// byProject are the items of each project's queue, in order.
func (q *queues) byProject() map[string][]queue.Item {
	out := map[string][]queue.Item{}
	for _, w := range q.waiters {
		out[w.Party.Project] = append(out[w.Party.Project], w.Item)
	}
	for _, items := range out {
		queue.Sort(items)
	}
	return out
}

// projects are those with something waiting or a queue.
func (q *queues) projects() []string {
	var out []string
	for _, o := range q.objects {
		out = append(out, o.Name)
	}
	for i := range q.pods {
		out = append(out, q.pods[i].Annotations[api.ProjectAnnotation])
	}
	slices.Sort(out)
	return slices.Compact(slices.DeleteFunc(out, func(p string) bool { return p == "" }))
}

// Reasons that only this plugin gives.
const (
	// reasonOpensNow: nothing stands in the way; the controller opens the gate.
	reasonOpensNow = "OpensNow"
	// reasonNotSaid: the controller has not said why, and it cannot be worked out.
	reasonNotSaid = "NotSaid"
)

// why is why a pod waits: what the decision says now, or else what the controller
// wrote on it.
func (q *queues) why(pod *corev1.Pod) (reason, message string) {
	if _, ok := q.opens[string(pod.UID)]; ok {
		return reasonOpensNow, "nothing stands in its way: the controller opens its gate in a moment"
	}
	if w, ok := q.now[string(pod.UID)]; ok {
		return w.Reason, w.Message
	}
	if c := allocated(pod); c != nil && c.Status != corev1.ConditionTrue {
		return c.Reason, c.Message
	}
	return reasonNotSaid, "the controller has not said yet why it waits"
}

// allocated is what the controller has written on a pod; nil: nothing yet.
func allocated(pod *corev1.Pod) *corev1.PodCondition {
	return objects.Condition(pod, api.ConditionAllocated)
}
