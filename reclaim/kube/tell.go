// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/reclaim"
)

// tell lets its user know what was decided: in events on the workload, and by a policy's
// URL. What is decided again, because it could not be kept, is not told again.
func (e *Engine) tell(c Case, d reclaim.Decision) {
	switch {
	case d.Warn != nil && e.news(c, named(d.Occupancy.Warnings, nil)):
		e.event(c, corev1.EventTypeWarning, api.ReasonReclaimWarning, d.Warn.Text)
		e.post(c, api.ReasonReclaimWarning, *d.Warn)
		if e.config.Observe != nil {
			e.config.Observe.Warned(d.Warn.Reason)
		}
	case d.Cleared != nil && e.news(c, named(nil, d.Cleared)):
		e.event(c, corev1.EventTypeNormal, api.ReasonActive, d.Cleared.Text)
		e.post(c, api.ReasonActive, *d.Cleared)
	}
	if d.Extended != 0 && d.Changed {
		e.event(c, corev1.EventTypeNormal, api.ReasonExtended, extendedText(c, d))
	}
}

func extendedText(c Case, d reclaim.Decision) string {
	what := fmt.Sprintf("%s was added", d.Extended)
	if d.Extended < 0 {
		what = fmt.Sprintf("%s was taken back", -d.Extended)
	}
	if by := c.Object.GetAnnotations()[api.ExtendedByAnnotation]; by != "" {
		what += " by " + by
	}
	if d.Deadline != nil {
		what += ": it is paused at " + d.Deadline.At.UTC().Format("2006-01-02 15:04:05 UTC")
	}
	return what
}

// news reports whether a workload's user was not told this last.
func (e *Engine) news(c Case, what string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	uid := c.Object.GetUID()
	if e.told[uid] == what {
		return false
	}
	e.told[uid] = what
	return true
}

// named tells a warning, or its end, from others about the same workload.
func named(w []api.ReclaimWarning, cleared *reclaim.Notice) string {
	if cleared != nil {
		return "cleared " + cleared.At.UTC().Format(time.RFC3339)
	}
	if len(w) == 0 {
		return ""
	}
	last := w[len(w)-1]
	return fmt.Sprintf("%s, %d s before", last.ExpiresAt.UTC().Format(time.RFC3339), last.BeforeSeconds)
}

func (e *Engine) event(c Case, kind, reason, text string) {
	e.config.Events.Eventf(c.Object, nil, kind, reason, "Reclaim", "%s", text)
}

func (e *Engine) post(c Case, reason string, n reclaim.Notice) {
	if e.config.Notify == nil || n.Notify == "" {
		return
	}
	e.config.Notify.Send(n.Notify, e.notice(c, reason, n))
}

func (e *Engine) notice(c Case, reason string, n reclaim.Notice) Notice {
	who := c.who()
	out := Notice{
		Reason: reason, Policy: n.Policy, Kind: c.Kind, Namespace: c.Namespace, Name: c.Name, UID: string(c.Object.GetUID()),
		User: who.User, Project: who.Project, Message: n.Text, At: e.Now(),
	}
	if !n.At.IsZero() {
		out.ExpiresAt = &n.At
	}
	return out
}

// Paused tells that something is paused now, after the pause was written.
func (e *Engine) Paused(c Case, d reclaim.Decision, rules reclaim.Rules) {
	text := c.String() + " is paused: " + reclaim.PauseReason(*d.Deadline, rules, d.Occupancy)
	e.event(c, corev1.EventTypeWarning, api.ReasonPausing, text)
	notify := rules.LimitTerms.Notify
	if d.Deadline.Reason == api.ReasonIdle {
		notify = rules.IdleTerms.Notify
	}
	e.post(c, api.ReasonPaused, reclaim.Notice{Deadline: *d.Deadline, Text: text, Notify: notify})
	if e.config.Observe != nil {
		e.config.Observe.Paused(d.Deadline.Reason, max(e.Now().Sub(d.Deadline.At), 0))
	}
}
