// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"sync"
	"time"

	"github.com/go-logr/logr"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/quota"
	"aipub.io/aipub/quota/gate"
)

// refresh is how old a replica's book may be.
const refresh = 500 * time.Millisecond

// books keeps a book for admission, made anew when something changed.
type books struct {
	model  *model
	nodes  nodeCache
	mu     sync.Mutex
	keeper gate.Keeper
	book   *quota.Book // nil until the cluster is known
	sees   func(namespace, own string) func(user string) bool
	turn   uint64
}

// keep makes the book anew until the context ends.
func (b *books) keep(ctx context.Context, w *Watch) {
	if w.wait(ctx) != nil {
		return
	}
	ticker := time.NewTicker(refresh)
	defer ticker.Stop()
	for {
		b.make(ctx, w)
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

func (b *books) make(ctx context.Context, w *Watch) {
	if _, turn := b.model.wait(); b.book != nil && turn == b.turn {
		return
	}
	cluster, err := readCluster(ctx, w.reader, &b.nodes)
	if err != nil {
		logr.FromContextOrDiscard(ctx).Error(err, "Make book for admission")
		return
	}
	v := b.model.charges(cluster, time.Now())
	sees := gate.Sees(v.Charged)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.book, b.sees, b.turn = b.keeper.Book(&v.Snapshot), sees, v.turn
}

// Short is what is in the way of an ask, and how to say so.
type Short struct {
	Reason string // see [quota.Shortfall.Reason]
	// Quota is its name, Sentence says what is short, who holds it as far as the
	// people of the namespace may know, and what to do.
	Quota, Sentence string
}

// Fits says what is in the way of count more pods of a workload; nothing where they
// fit. For an Operation they are more of its guaranteed minimum. It is for early
// refusals: it may be half a second late, and where the cluster is not known yet
// nothing is in the way. The gate decides exactly.
func (w *Watch) Fits(workload quota.Workload, party quota.Party, sets map[string]int64, count int64) []Short {
	floor := w.model.floorOf(workload.UID)
	w.books.mu.Lock()
	defer w.books.mu.Unlock()
	if w.books.book == nil {
		return nil
	}
	var verdict quota.Verdict
	if party.Type == api.TypeOperation {
		verdict = w.books.book.CheckFloor(quota.Floor{Workload: workload, Party: party, Sets: sets, MinReplicas: floor + count})
	} else {
		verdict = w.books.book.Check([]quota.Claim{{
			UID: "ask", Namespace: workload.Namespace, Workload: workload, Party: party, Sets: times(sets, count),
		}})
	}
	return w.books.say(verdict, workload, party)
}

// FitsWhole says what is in the way of count pods of a workload in place of those that
// it has, as when its pods are to ask for other sets. What these hold is its own.
// For the rest it is like [Watch.Fits].
func (w *Watch) FitsWhole(workload quota.Workload, party quota.Party, sets map[string]int64, count int64) []Short {
	w.books.mu.Lock()
	defer w.books.mu.Unlock()
	if w.books.book == nil {
		return nil
	}
	return w.books.say(w.books.book.CheckFloor(quota.Floor{Workload: workload, Party: party, Sets: sets, MinReplicas: count}), workload, party)
}

// say puts a verdict into words for who asked. The lock is held.
func (b *books) say(verdict quota.Verdict, workload quota.Workload, party quota.Party) []Short {
	var out []Short
	for _, s := range verdict.Shortfalls {
		out = append(out, Short{
			Reason: s.Reason(), Quota: s.Quota,
			Sentence: s.Sentence(b.sees(workload.Namespace, party.User), time.Now()),
		})
	}
	return out
}

// times is what n pods ask for together.
func times(sets map[string]int64, n int64) map[string]int64 {
	out := make(map[string]int64, len(sets))
	for set, count := range sets {
		out[set] = count * n
	}
	return out
}

// floorOf is the guaranteed minimum of a known workload as far as the object itself
// says, as that is what an ask adds to; 0 for others.
func (m *model) floorOf(uid string) int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	if w := m.workloads[uid]; w != nil {
		if f, ok := w.Floor(nil); ok {
			return f.MinReplicas
		}
	}
	return 0
}
