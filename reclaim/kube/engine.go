// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/reclaim"
)

// EventRecorder tells the cluster what happened to an object.
type EventRecorder interface {
	Eventf(regarding, related runtime.Object, eventType, reason, action, note string, args ...any)
}

// Observer is told what was done, for metrics.
type Observer interface {
	// Warned and Paused are called once each; late is how long after its deadline the
	// pause was decided.
	Warned(reason string)
	Paused(reason string, late time.Duration)
}

// Config are the settings of an [Engine].
type Config struct {
	Clock  *Clock
	Events EventRecorder
	// Notify and Jupyter may be nil: nothing is posted, no server is asked.
	Notify  *Notifier
	Jupyter *Jupyter
	// Secrets reads the tokens of notebook servers, as far as it may.
	Secrets client.Reader
	Observe Observer
}

// Engine decides on workloads, one at a time or many at once.
type Engine struct {
	reader client.Reader
	config Config
	// steady is held for writing while the clock is being moved; shifted are the
	// workloads that were moved already.
	steady  sync.RWMutex
	shifted done

	mu        sync.Mutex
	startedAt time.Time
	// counted is when an engine before this one was last there.
	counted time.Time
	// held are the workloads that this engine saw with their sets.
	held map[types.UID]bool
	told map[types.UID]string
}

// NewEngine makes an Engine that reads from a cache with the fields of [Index].
func NewEngine(reader client.Reader, config Config) *Engine {
	return &Engine{reader: reader, config: config, held: map[types.UID]bool{}, told: map[types.UID]string{}}
}

// Case is a workload that ReclaimPolicies may bind.
type Case struct {
	reclaim.Workload
	Object client.Object
	// Pods are its own, also those without a node.
	Pods      []*corev1.Pod
	Occupancy api.Occupancy
	// Pausing and Paused are those of [reclaim.Subject].
	Pausing, Paused bool
	// Jupyter is how to ask its notebook server; nil for none.
	Jupyter *api.JupyterActivity
}

func (c Case) who() reclaim.Who {
	a := c.Object.GetAnnotations()
	return reclaim.Who{User: a[api.UserAnnotation], Project: a[api.ProjectAnnotation]}
}

// Now is the time on the engine's clock.
func (e *Engine) Now() time.Time { return e.config.Clock.Now() }

// begin notes when this engine looks for the first time, which is when it becomes the
// leader's, and when the one before was last there: that one counted for the policies
// until then. It must be called before this one counts.
func (e *Engine) begin(policies []api.ReclaimPolicy, now time.Time) (startedAt time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.startedAt.IsZero() {
		e.startedAt = now
		for i := range policies {
			e.counted = latest(e.counted, policies[i].Status.CountedUntil)
		}
	}
	return e.startedAt
}

// Decide says what to do about a workload. What its user has to be told of it is told
// before it is kept: rather twice than never.
func (e *Engine) Decide(ctx context.Context, c Case) (reclaim.Decision, reclaim.Rules, error) {
	e.steady.RLock()
	defer e.steady.RUnlock()
	var policies api.ReclaimPolicyList
	if err := e.reader.List(ctx, &policies, client.UnsafeDisableDeepCopy); err != nil {
		return reclaim.Decision{}, reclaim.Rules{}, fmt.Errorf("list reclaim policies: %w", err)
	}
	rules := reclaim.Bind(policies.Items, c.who())
	now := e.Now()
	startedAt := e.begin(policies.Items, now)
	s, err := e.subject(ctx, c, rules, now)
	if err != nil {
		return reclaim.Decision{}, reclaim.Rules{}, err
	}
	d := reclaim.Decide(s, rules, now, startedAt)
	e.tell(c, d)
	return d, rules, nil
}

// subject gathers what is known of a workload.
func (e *Engine) subject(ctx context.Context, c Case, rules reclaim.Rules, now time.Time) (reclaim.Subject, error) {
	s := reclaim.Subject{Workload: c.Workload, Occupancy: c.Occupancy, Pausing: c.Pausing, Paused: c.Paused}
	var on []*corev1.Pod
	for _, p := range c.Pods {
		if p.DeletionTimestamp != nil && c.Occupancy.Since == nil {
			continue // it ends, from before a pause: no clock begins with it
		}
		if p.Spec.NodeName != "" && !ended(p) {
			on = append(on, p)
			s.Pods = append(s.Pods, reclaim.Holder{UID: string(p.UID), Since: boundAt(p)})
		}
	}
	s.HeldUntil = e.heldUntil(c, len(on) > 0, now)
	annotations := c.Object.GetAnnotations()
	extend, err := reclaim.ParseExtend(annotations[api.ExtendAnnotation])
	if err == nil { // admission refuses others; one that was there before adds nothing
		s.Extend, s.ExtendedBy = extend, annotations[api.ExtendedByAnnotation]
	}
	if rules.Idle.After > 0 && len(on) > 0 {
		if s.Watches, err = e.watches(ctx, c, on); err != nil {
			return reclaim.Subject{}, err
		}
	}
	return s, nil
}

// heldUntil is when a workload surely held its set last, should its pod be gone now. This
// engine is told at once of a pod that goes. Of one that went before it began, it knows
// that it was there when the engine before it was.
func (e *Engine) heldUntil(c Case, holds bool, now time.Time) time.Time {
	e.mu.Lock()
	defer e.mu.Unlock()
	uid := c.Object.GetUID()
	seen := e.held[uid]
	switch {
	case holds:
		e.held[uid] = true
	case c.Occupancy.Since == nil: // that it stopped is written
		delete(e.held, uid)
	}
	if seen {
		return now
	}
	return e.counted
}

// Forget drops what is remembered of a workload that is gone.
func (e *Engine) Forget(uid types.UID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.held, uid)
	delete(e.told, uid)
}

// boundAt is when a pod came to its node.
func boundAt(p *corev1.Pod) time.Time {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionTrue && !c.LastTransitionTime.IsZero() {
			return c.LastTransitionTime.Time
		}
	}
	return p.CreationTimestamp.Time
}

// lookEvery is how often what somebody does is looked at: nodes tell of it each minute.
const lookEvery = time.Minute

// again is how long to wait before a workload is looked at again, zero for never: at
// least a moment, so that what is due now is.
func (e *Engine) again(c Case, d reclaim.Decision, rules reclaim.Rules) time.Duration {
	var wait time.Duration
	if !d.Next.IsZero() {
		wait = max(d.Next.Sub(e.Now()), time.Millisecond)
	}
	if rules.Idle.After > 0 && d.Occupancy.Since != nil && !c.Pausing && (wait == 0 || wait > lookEvery) {
		return lookEvery
	}
	return wait
}

// stamp is a time without fractions, as it is kept.
func stamp(t time.Time) *metav1.Time {
	m := metav1.NewTime(t.UTC().Truncate(time.Second))
	return &m
}
