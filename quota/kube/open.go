// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/quota"
	"aipub.io/aipub/quota/gate"
	"aipub.io/aipub/quota/objects"
)

func typeUID(uid string) types.UID { return types.UID(uid) }

// tries is how often an opening is sent anew after the pod changed under it.
const tries = 5

// backoff is how long a pod waits after the API server refused its opening.
const backoff = 10 * time.Second

// openAll carries out openings in batches, each on an intent of its own. A gang is
// not divided.
func (l *Leader) openAll(ctx context.Context, open []gate.Opening) error {
	for len(open) > 0 {
		n := min(len(open), l.config.Batch)
		for n < len(open) && open[n].Gang && open[n-1].Gang && open[n].Claim.Workload == open[n-1].Claim.Workload {
			n++
		}
		if err := l.openBatch(ctx, open[:n]); err != nil {
			return err
		}
		open = open[n:]
	}
	return nil
}

// openBatch opens some gates: first they count as open, then the intent is written,
// then they are opened. What did not happen, for sure, is taken back. Those that
// changed under it, without a change of what was decided on, are tried again, each
// time on a new intent: only a write to the fence that comes after the pod was read
// proves that no other leader has touched it before.
func (l *Leader) openBatch(ctx context.Context, open []gate.Opening) error {
	sendings := l.assumeAll(open)
	for n := 0; len(sendings) > 0; n++ {
		if n == tries {
			l.takeBack(sendings)
			l.round.Conflicts += len(sendings)
			return nil
		}
		fitting, err := l.fit(ctx, sendings, n == 0)
		if err == nil && len(fitting) > 0 {
			err = l.declare(ctx, fitting)
		}
		if err != nil {
			l.takeBack(sendings)
			return err
		}
		sendings = l.sendAll(ctx, fitting)
	}
	return nil
}

// assumeAll counts openings as open. Without one of its pods a gang does not start.
func (l *Leader) assumeAll(open []gate.Opening) []sending {
	var out []sending
	for i := range open {
		o := &open[i]
		s, ok := l.watch.model.assume(o.Claim, intent{
			UID: o.Claim.UID, Namespace: o.Claim.Namespace, Name: o.Claim.Name,
			Node: o.Seat.Node, Grade: o.Grade, At: l.config.Clock.Now(),
		})
		switch {
		case ok:
			if o.Gang {
				s.gang = o.Claim.Workload.UID
			}
			out = append(out, s)
		case o.Gang:
			l.takeBack(out)
			return nil
		}
	}
	return out
}

// declare writes the intent to send, beside what is still of unknown outcome.
func (l *Leader) declare(ctx context.Context, sendings []sending) error {
	batch := l.watch.model.doubted()
	for i := range sendings {
		batch = append(batch, sendings[i].intent)
	}
	return l.fence.write(ctx, batch)
}

// takeBack ends the assumption about openings that were not sent.
func (l *Leader) takeBack(sendings []sending) {
	for i := range sendings {
		l.watch.model.forgetAssumption(sendings[i].UID, time.Time{})
	}
}

// sendAll sends openings, several at once, the first ones first. It returns those
// to try again.
func (l *Leader) sendAll(ctx context.Context, sendings []sending) (again []sending) {
	log := logr.FromContextOrDiscard(ctx)
	var mu sync.Mutex
	l.inParallel(sendings, func(s *sending) {
		o, err := l.send(ctx, s)
		if err != nil {
			log.Info("Gate was not opened", "pod", s.key.String(), "error", err.Error())
		}
		mu.Lock()
		defer mu.Unlock()
		l.count(s, o)
		if o == stands {
			again = append(again, *s)
		}
	})
	return again
}

// inParallel does something for each sending, several at once, in their order.
func (l *Leader) inParallel(sendings []sending, do func(*sending)) {
	next := make(chan *sending)
	var workers sync.WaitGroup
	for range min(l.config.Writers, len(sendings)) {
		workers.Go(func() {
			for s := range next {
				do(s)
			}
		})
	}
	for i := range sendings {
		next <- &sendings[i]
	}
	close(next)
	workers.Wait()
}

func (l *Leader) count(s *sending, o outcome) {
	switch o {
	case done:
		l.round.Opened[string(s.Grade)]++
	case changed, stands:
		l.round.Conflicts++
	case unknown:
		l.round.Unknown++
	case refused:
	}
}

// send opens one gate and takes what came of it into the model.
func (l *Leader) send(ctx context.Context, s *sending) (outcome, error) {
	m := l.watch.model
	pod, o, err := send(ctx, l.client, s)
	switch o {
	case done:
		m.apply(pod)
		l.event(pod, corev1.EventTypeNormal, api.ReasonOpened, "Open", openedNote(s))
	case refused:
		m.forgetAssumption(s.UID, l.config.Clock.Now().Add(backoff))
		l.event(podRef(s.Namespace, s.Name, s.UID), corev1.EventTypeWarning, reasonOpenRefused, "Open", err.Error())
	case unknown:
		m.doubt(s.UID)
	case changed:
		still, err := l.lookAgain(ctx, s)
		switch {
		case err != nil:
			m.doubt(s.UID)
			return unknown, err
		case still:
			return stands, nil
		}
		return changed, nil
	case stands: // send does not say so; lookAgain does
	}
	return o, err
}

// reasonOpenRefused is of an event: the API server would not open a gate.
const reasonOpenRefused = "OpenRefused"

// lookAgain reads a pod that changed, and reports whether its opening still stands.
// The conflict proves that what was sent has not happened and cannot any more.
func (l *Leader) lookAgain(ctx context.Context, s *sending) (bool, error) {
	m := l.watch.model
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	pod := &corev1.Pod{}
	err := l.client.Get(ctx, s.key, pod)
	if apierrors.IsNotFound(err) || (err == nil && string(pod.UID) != s.UID) {
		m.remove(s.UID)
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look at pod %s: %w", s.key, err)
	}
	m.apply(pod)
	e := readPod(pod, nil)
	if !e.Gated || e.Ended || e.Leaving {
		m.forgetAssumption(s.UID, time.Time{})
		return false, nil
	}
	s.take(e)
	return true, nil
}

func openedNote(s *sending) string {
	note := "its gate is open"
	if s.Node != "" {
		note += ", on node " + s.Node
	}
	switch s.Grade {
	case quota.Borrowed:
		note += "; it borrows from its project's quota and may have to give it back"
	case quota.Headroom:
		note += "; it is beyond the guaranteed minimum and may have to give back"
	case quota.Surge:
		note += "; it stands above the limit while it replaces an older pod"
	case quota.Within:
	case objects.Unmanaged:
		note = "its namespace is not managed any more, so its gate is open"
	}
	if s.resized != "" {
		note += "; " + s.resized + ", which it was given"
	}
	return note
}

// openUnmanaged opens gates of namespaces that are not managed any more, without a
// charge.
func (l *Leader) openUnmanaged(ctx context.Context, claims []quota.Claim) error {
	open := make([]gate.Opening, 0, min(len(claims), l.config.Most))
	for _, c := range claims[:cap(open)] {
		open = append(open, gate.Opening{Claim: c, Grade: objects.Unmanaged})
	}
	return l.openAll(ctx, open)
}
