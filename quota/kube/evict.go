// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/quota"
)

// again is how long after a refusal a pod is asked to go again.
const again = 30 * time.Second

// yield asks the pods that a plan names to go, and returns for which workloads some do.
// Where one of several that have to go for a workload may not, none of them goes: it would
// be in vain. The next plan asks others.
func (l *Leader) yield(ctx context.Context, victims []quota.Victim) map[quota.Workload]bool {
	var order []quota.Workload
	of := map[quota.Workload][]quota.Victim{}
	for _, v := range victims {
		if of[v.For] == nil {
			order = append(order, v.For)
		}
		of[v.For] = append(of[v.For], v)
	}
	going := map[quota.Workload]bool{}
	for _, w := range order {
		if len(of[w]) > 1 && !l.mayAllGo(ctx, of[w]) {
			continue
		}
		for _, v := range of[w] {
			l.round.Yielded[v.Reason]++
			if l.evict(ctx, v.Claim, v.Reason, v.Message) {
				going[w] = true
			}
		}
	}
	return going
}

// mayAllGo asks the API server, which changes nothing, whether it would evict some pods.
func (l *Leader) mayAllGo(ctx context.Context, victims []quota.Victim) bool {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	all := true
	for _, v := range victims {
		pod, eviction := evictionOf(v.Claim)
		if err := l.client.SubResource("eviction").Create(ctx, pod, eviction, client.DryRunAll); apierrors.IsTooManyRequests(err) {
			l.stays(ctx, v.Claim, v.Reason, v.Message, err)
			all = false
		}
	}
	return all
}

// stays notes, and tells, that a pod may not be evicted now.
func (l *Leader) stays(ctx context.Context, claim quota.Claim, reason, message string, err error) {
	logr.FromContextOrDiscard(ctx).Info("Pod may not be evicted now", "pod", claim.Namespace+"/"+claim.Name, "reason", reason, "why", err.Error())
	l.watch.model.staysUntil(claim.UID, l.config.Clock.Now().Add(again))
	l.event(podRef(claim.Namespace, claim.Name, claim.UID), corev1.EventTypeWarning, reason, "Evict", message+fmt.Sprintf("; it stays for now: %v", err))
}

// evictionOf is an eviction of a pod with its UID as a precondition.
func evictionOf(claim quota.Claim) (*corev1.Pod, *policyv1.Eviction) {
	pod := podRef(claim.Namespace, claim.Name, claim.UID)
	return pod, &policyv1.Eviction{
		ObjectMeta:    pod.ObjectMeta,
		DeleteOptions: &metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &pod.UID}},
	}
}

// replaceLost has lost pods made again.
func (l *Leader) replaceLost(ctx context.Context, lost []lostPod) {
	for _, p := range lost {
		l.evict(ctx, p.claim, p.reason, p.why+"; the pod is made again and keeps its place in the queue")
	}
}

// evict ends a pod through the Eviction API, which respects PodDisruptionBudgets and
// marks the pod, so that a Job can tell this from a failure. The UID is a
// precondition. It reports whether the pod goes.
func (l *Leader) evict(ctx context.Context, claim quota.Claim, reason, message string) bool {
	now := l.config.Clock.Now()
	if now.Before(l.refused[claim.UID]) {
		return false
	}
	l.refused[claim.UID] = now.Add(again) // the pod is leaving, or it was refused
	pod, eviction := evictionOf(claim)
	log := logr.FromContextOrDiscard(ctx).WithValues("pod", claim.Namespace+"/"+claim.Name, "reason", reason)
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	l.sayWhy(ctx, claim, reason, message)
	err := l.client.SubResource("eviction").Create(ctx, pod, eviction)
	switch {
	case err == nil:
		log.Info("Evicted pod", "why", message)
		l.watch.model.evicted(claim.UID)
		l.event(pod, corev1.EventTypeNormal, reason, "Evict", message)
	case apierrors.IsNotFound(err), apierrors.IsConflict(err):
		// It is gone, or another of its name has come.
	case apierrors.IsTooManyRequests(err):
		l.stays(ctx, claim, reason, message, err)
	default:
		log.Error(err, "Evict pod")
		l.watch.model.staysUntil(claim.UID, l.refused[claim.UID])
	}
	return err == nil
}

// sayWhy writes the reason into the pod's condition before it goes. Where that fails
// the pod goes all the same.
func (l *Leader) sayWhy(ctx context.Context, claim quota.Claim, reason, message string) {
	err := writeCondition(ctx, l.client, claim, corev1.PodCondition{
		Type: api.ConditionAllocated, Status: corev1.ConditionFalse, Reason: reason, Message: message,
		LastTransitionTime: metav1.NewTime(l.config.Clock.Now()),
	})
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		logr.FromContextOrDiscard(ctx).V(1).Info("Pod's condition could not be written", "pod", claim.Namespace+"/"+claim.Name, "error", err.Error())
	}
}

// evicted notes that a pod is on its way out. What the cluster shows of it may be older
// for a moment, and nobody else is to go in its place.
func (m *model) evicted(uid string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if e := m.pods[uid]; e != nil {
		e.evicted = true
		m.touched()
	}
}

// staysUntil notes that a pod may not go for now, so that others are asked.
func (m *model) staysUntil(uid string, until time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if e := m.pods[uid]; e != nil {
		e.stays = until
		m.touched()
	}
}

// freed notes for which pods others go: of those that a plan names, those of workloads
// for which some do.
func (m *model) freed(uids []string, going map[quota.Workload]bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, uid := range uids {
		if e := m.pods[uid]; e != nil && going[e.Claim.Workload] {
			e.freed = true
		}
	}
}
