// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"strconv"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/quota"
)

// Workload is what an object that makes pods says of itself.
type Workload struct {
	quota.Workload
	Party quota.Party
	// Rank and Promoted are its keys in the order; see [aipub.io/aipub/quota/queue].
	Rank, Promoted string
	Created        time.Time
	// Gang is how many pods of a Job start together; 0: each by itself.
	Gang int
	// DueBack is when it has to give back what it holds; zero when nothing says so.
	DueBack time.Time
	// minimum of an Operation; nil for others.
	minimum *minimum
}

// WorkloadOf reads an object of a kind. Gang, minimum, and when a Workspace is due back
// are known where o is a typed object, not where it is metadata alone.
func WorkloadOf(o metav1.Object, group, kind string) *Workload {
	a := o.GetAnnotations()
	w := &Workload{
		Workload: quota.Workload{Group: group, Kind: kind, Namespace: o.GetNamespace(), Name: o.GetName(), UID: string(o.GetUID())},
		Party:    partyOf(o),
		Rank:     a[api.RankAnnotation], Promoted: a[api.PromotedAnnotation],
		Created: o.GetCreationTimestamp().Time,
		DueBack: annotatedDue(a),
	}
	switch o := o.(type) {
	case *api.Workspace:
		w.DueBack = dueBack(o.Status.Occupancy)
	case *batchv1.Job:
		w.Gang = gangOf(o)
	case *appsv1.Deployment:
		w.readMinimum(a, o.Spec.Replicas, &o.Spec.Template)
	case *appsv1.StatefulSet:
		w.readMinimum(a, o.Spec.Replicas, &o.Spec.Template)
	}
	return w
}

// gangOf is how many pods of a Job start together. At its end a Job makes fewer, and
// those that are left are the gang.
func gangOf(job *batchv1.Job) int {
	text := job.Annotations[api.GangAnnotation]
	if text == "" {
		return 0
	}
	gang := int(orOne(job.Spec.Parallelism))
	if n, err := strconv.Atoi(text); err == nil {
		gang = min(n, gang)
	}
	if job.Spec.Completions != nil {
		gang = min(gang, int(*job.Spec.Completions-job.Status.Succeeded)-failedIndexes(job))
	}
	return max(gang, 0)
}

// failedIndexes counts those of an indexed Job that failed for good and are not made
// again: "1,3-5" are four.
func failedIndexes(job *batchv1.Job) int {
	if job.Status.FailedIndexes == nil {
		return 0
	}
	n := 0
	for part := range strings.SplitSeq(*job.Status.FailedIndexes, ",") {
		from, to, isRange := strings.Cut(part, "-")
		if !isRange {
			to = from
		}
		first, err := strconv.Atoi(from)
		last, errToo := strconv.Atoi(to)
		if err == nil && errToo == nil && last >= first {
			n += last - first + 1
		}
	}
	return n
}

// orOne is what Kubernetes takes where a count is left out.
func orOne(n *int32) int64 {
	if n == nil {
		return 1
	}
	return int64(*n)
}

// minimum is what an Operation's guaranteed minimum is made of.
type minimum struct {
	sets map[string]int64
	// given is the author's own; -1: none.
	given    int64
	replicas int64
}

func (w *Workload) readMinimum(annotations map[string]string, replicas *int32, template *corev1.PodTemplateSpec) {
	if w.Party.Type != api.TypeOperation || w.Party.Project == "" {
		return
	}
	sets := Sets(&template.Spec)
	if len(sets) == 0 {
		return
	}
	w.minimum = &minimum{sets: sets, given: -1, replicas: orOne(replicas)}
	if n, err := strconv.ParseInt(annotations[api.MinReplicasAnnotation], 10, 32); err == nil && n >= 0 {
		w.minimum.given = n
	}
}
