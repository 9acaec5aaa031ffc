// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"strconv"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/quota"
)

// workload is what is known of an object that makes pods.
type workload struct {
	quota.Workload
	party          quota.Party
	rank, promoted string
	rankedBy       string
	created        time.Time
	version        string
	gang           int
	// floor is the guaranteed minimum of an Operation; nil for others.
	floor *floorSpec
}

// floorSpec is what an Operation's minimum is made of.
type floorSpec struct {
	sets map[string]int64
	// given is the author's own minimum; -1: none.
	given    int64
	replicas int64
}

// hpaKey names what an autoscaler scales.
type hpaKey struct{ namespace, kind, name string }

// readWorkload takes from an object what is kept of it.
func readWorkload(o client.Object, group, kind string) *workload {
	a := o.GetAnnotations()
	w := &workload{
		Workload: quota.Workload{Group: group, Kind: kind, Namespace: o.GetNamespace(), Name: o.GetName(), UID: string(o.GetUID())},
		party:    quota.Party{Project: a[api.ProjectAnnotation], User: a[api.UserAnnotation], Type: api.WorkloadType(a[api.TypeAnnotation])},
		rank:     a[api.RankAnnotation], promoted: a[api.PromotedAnnotation], rankedBy: a[api.RankedByAnnotation],
		created: o.GetCreationTimestamp().Time, version: o.GetResourceVersion(),
	}
	switch o := o.(type) {
	case *batchv1.Job:
		w.gang = gangOf(o)
	case *appsv1.Deployment:
		w.readFloor(a, o.Spec.Replicas, &o.Spec.Template)
	case *appsv1.StatefulSet:
		w.readFloor(a, o.Spec.Replicas, &o.Spec.Template)
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
	parallelism := int32(1)
	if job.Spec.Parallelism != nil {
		parallelism = *job.Spec.Parallelism
	}
	gang := int(parallelism)
	if n, err := strconv.Atoi(text); err == nil {
		gang = min(n, gang)
	}
	if job.Spec.Completions != nil {
		gang = min(gang, int(*job.Spec.Completions-job.Status.Succeeded))
	}
	return max(gang, 0)
}

func (w *workload) readFloor(annotations map[string]string, replicas *int32, template *corev1.PodTemplateSpec) {
	if w.party.Type != api.TypeOperation || w.party.Project == "" {
		return
	}
	sets := setsOf(&template.Spec)
	if len(sets) == 0 {
		return
	}
	w.floor = &floorSpec{sets: sets, given: -1, replicas: 1}
	if replicas != nil {
		w.floor.replicas = int64(*replicas)
	}
	if n, err := strconv.ParseInt(annotations[api.MinReplicasAnnotation], 10, 32); err == nil && n >= 0 {
		w.floor.given = n
	}
}

// quotaFloor is the guaranteed minimum: the author's, else the autoscaler's, else one
// as long as any is wished for.
func (w *workload) quotaFloor(autoscalers map[hpaKey]int64) (quota.Floor, bool) {
	if w.floor == nil {
		return quota.Floor{}, false
	}
	f := quota.Floor{Workload: w.Workload, Party: w.party, Sets: w.floor.sets, MinReplicas: w.floor.given}
	if f.MinReplicas < 0 {
		n, scaled := autoscalers[hpaKey{w.Namespace, w.Kind, w.Name}]
		if !scaled {
			n = min(1, w.floor.replicas)
		}
		f.MinReplicas = n
	}
	return f, f.MinReplicas > 0
}

func readAutoscaler(h *autoscalingv2.HorizontalPodAutoscaler) (hpaKey, int64) {
	n := int64(1)
	if h.Spec.MinReplicas != nil {
		n = int64(*h.Spec.MinReplicas)
	}
	return hpaKey{h.Namespace, h.Spec.ScaleTargetRef.Kind, h.Spec.ScaleTargetRef.Name}, n
}
