// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/gpu"
	"aipub.io/aipub/gpu/nvml"
)

// events is where people are told of what happened. It never blocks.
type events interface {
	Announce(node types.UID, eventType, reason, message string)
	AnnouncePod(p gpu.Pod, eventType, reason, message string)
}

// faults are the pieces of hardware that are unhealthy, with the reason.
type faults map[fault]string

type fault struct {
	gpu    string
	gi, ci int
}

// announceReason tells when the partition has another reason than last time.
// What an agent finds in order at its start is no news, nor that it has not
// looked yet.
func (a *agent) announceReason(t told) {
	if !t.read && t.reason == api.ReasonPending {
		return
	}
	a.mu.Lock()
	before := a.announced
	a.announced = t.reason
	a.mu.Unlock()
	if before == t.reason || before == "" && t.reason == api.ReasonApplied {
		return
	}
	kind := corev1.EventTypeWarning
	switch t.reason {
	case api.ReasonApplied, api.ReasonPending, api.ReasonWaitingForIdle, api.ReasonNoPolicy:
		kind = corev1.EventTypeNormal
	}
	a.announce(t.desired.NodeUID, kind, t.reason, t.message)
}

// noteHealth announces a change of health. back says that what was unhealthy is
// fit again.
func (a *agent) noteHealth(e nvml.Event) (back bool) {
	key := fault{e.GPU, e.GIID, e.CIID}
	a.mu.Lock()
	before, was := a.faults[key]
	switch {
	case e.Health.OK:
		delete(a.faults, key)
	case a.faults == nil:
		a.faults = faults{key: e.Health.Reason}
	default:
		a.faults[key] = e.Health.Reason
	}
	uid := a.told.desired.NodeUID
	a.mu.Unlock()
	what := a.nameOf(e.GPU)
	if e.GIID >= 0 {
		what = fmt.Sprintf("MIG instance %d of %s", e.GIID, what)
	}
	switch {
	case e.Health.OK && was:
		a.announce(uid, corev1.EventTypeNormal, api.ReasonHealthy, fmt.Sprintf("%s is fit again after %s", what, before))
	case !e.Health.OK && before != e.Health.Reason:
		a.announce(uid, corev1.EventTypeWarning, e.Health.Reason, fmt.Sprintf("%s: %s", what, e.Health.Message))
	}
	return e.Health.OK && was
}

func (a *agent) announce(node types.UID, kind, reason, message string) {
	a.mu.Lock()
	to := a.events
	a.mu.Unlock()
	if to != nil && reason != "" {
		to.Announce(node, kind, reason, message)
	}
}
