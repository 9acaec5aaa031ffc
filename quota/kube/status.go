// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/quota"
	"aipub.io/aipub/quota/gate"
)

const (
	// statusEvery is the shortest time between two writes of one object's status.
	statusEvery = time.Second
	// rephrase is how old a message must be before one of the same reason takes its
	// place: amounts in it change all the time.
	rephrase = 30 * time.Second
)

// writeStatuses shows what the last round saw and decided, once a second at most,
// until the context ends. Only what differs is written.
func (l *Leader) writeStatuses(ctx context.Context) {
	var shown *gate.Plan
	var keeper gate.Keeper
	for l.sleep(ctx, statusEvery) {
		v, plan := l.latest.get()
		if plan == nil {
			continue
		}
		if plan != shown {
			l.writeQuotas(ctx, v, keeper.Book(&v.Snapshot))
			if !plan.More {
				l.writeQueues(ctx, v, plan)
			}
			shown = plan
		}
		l.writeConditions(ctx, v, plan)
	}
}

func (l *Leader) writeConditions(ctx context.Context, v *view, plan *gate.Plan) {
	log := logr.FromContextOrDiscard(ctx)
	for _, w := range l.wishes(v, plan) {
		err := writeCondition(ctx, l.client, w.claim, w.condition)
		switch {
		case ctx.Err() != nil:
			return
		case apierrors.IsNotFound(err), apierrors.IsConflict(err):
		case err != nil:
			log.Error(err, "Tell pod")
		default:
			l.told[w.claim.UID] = v.Now
			if w.condition.Status == corev1.ConditionFalse {
				log.V(1).Info("Told pod", "pod", w.claim.Namespace+"/"+w.claim.Name, "reason", w.condition.Reason)
			}
		}
	}
	for uid, at := range l.told {
		if v.Now.Sub(at) > rephrase {
			delete(l.told, uid)
		}
	}
}

func (l *Leader) writeQuotas(ctx context.Context, v *view, book *quota.Book) {
	waiting := countWaiting(v)
	for i := range v.Quotas {
		q := v.Quotas[i].DeepCopy()
		status := quotaStatus(q, book, v.Sizes, waiting, v.Now)
		if equality.Semantic.DeepEqual(q.Status, status) {
			continue
		}
		q.Status = status
		l.writeStatus(ctx, q)
	}
}

func (l *Leader) writeQueues(ctx context.Context, v *view, plan *gate.Plan) {
	statuses := queueStatuses(v, plan)
	for i := range v.Queues {
		q := v.Queues[i].DeepCopy()
		status := statuses.of(q, v.Now)
		if equality.Semantic.DeepEqual(q.Status, status) {
			continue
		}
		q.Status = status
		l.writeStatus(ctx, q)
	}
}

// writeStatus writes a status as of the object that was seen. Where somebody was
// faster, the next round has another one.
func (l *Leader) writeStatus(ctx context.Context, object client.Object) {
	err := l.client.Status().Update(ctx, object)
	if err != nil && ctx.Err() == nil && !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
		logr.FromContextOrDiscard(ctx).Error(err, "Write status", "kind", kindOf(object), "name", object.GetName())
	}
}

func kindOf(object client.Object) string {
	if _, ok := object.(*api.PriorityQueue); ok {
		return "PriorityQueue"
	}
	return "ResourceSetQuota"
}
