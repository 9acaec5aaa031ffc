// SPDX-License-Identifier: Apache-2.0

package claims

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"aipub.io/aipub/quota/storage"
)

// Known is what this replica knows of the volume claims in the cluster.
type Known interface {
	// Covers reports whether all changes of claims up to a version are known; no
	// version is while not all that existed at the start is.
	Covers(version uint64) bool
	// Refresh asks the API server for all claims, past every cache.
	Refresh(ctx context.Context) error
	// Use lends the book for the length of a call.
	Use(func(*storage.Book))
}

// Reservations is the record that all replicas share.
type Reservations interface {
	// Read returns the record as it is now, and its version.
	Read(context.Context) (storage.Record, string, error)
	// Write replaces the record of a version. The error is storage.ErrConflict where it
	// has changed since, and storage.ErrFull where it is too long to be kept.
	Write(ctx context.Context, record storage.Record, version string) error
}

const (
	// gather is how long the first of several requests waits for others, to share one
	// write with them.
	gather = 2 * time.Millisecond
	// reserveWithin is when a request is answered at the latest. The webhook's own limit is longer.
	reserveWithin = 3 * time.Second
	// catchUp is how long a cache that lags behind may take before the API server is
	// asked for all claims.
	catchUp = 100 * time.Millisecond
)

// Ledger keeps room for volume claims that fit. It is safe for use by several
// goroutines, and by several replicas with ledgers of their own on one record.
type Ledger struct {
	known  Known
	record Reservations
	now    func() time.Time

	mu      sync.Mutex
	waiting []*order
	running bool
}

// NewLedger makes a ledger. now says what time stands in the record, for people.
func NewLedger(known Known, record Reservations, now func() time.Time) *Ledger {
	return &Ledger{known: known, record: record, now: now}
}

// Known is what the ledger's replica knows of the claims.
func (l *Ledger) Known() Known { return l.known }

// Change is a claim as a request would have it.
type Change struct {
	// Key makes repetitions the same.
	Key   string
	Claim storage.Claim
	// Dry changes are judged and nothing is kept for them.
	Dry bool
}

// order is a change that waits for its answer.
type order struct {
	Change
	ctx  context.Context
	done chan answer
	// last is the error of the last attempt; the ledger's mutex guards it.
	last error
}

type answer struct {
	short []Short
	err   error
}

// Short is a limit that a claim does not fit.
type Short struct {
	Measure storage.Measure
	// Reason as in [storage.Shortfall]; Sentence is for the people of the claim's namespace.
	Reason, Sentence string
}

// Reserve judges a change and, where it fits, returns once room is kept for it. What
// no quota binds needs none. The error is [storage.ErrFull] where the record takes no
// more for now, and else says that there was no answer in time.
func (l *Ledger) Reserve(ctx context.Context, change Change) ([]Short, error) {
	if !l.known.Covers(0) {
		return nil, errors.New("reserve storage: not all volume claims are known yet; try again")
	}
	bound := false
	l.known.Use(func(b *storage.Book) { bound = b.Binds(change.Claim.Owner) })
	if !bound {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, reserveWithin)
	defer cancel()
	o := &order{Change: change, ctx: ctx, done: make(chan answer, 1)}
	l.enter(o)
	select {
	case a := <-o.done:
		return a.short, a.err
	case <-ctx.Done():
		l.mu.Lock()
		defer l.mu.Unlock()
		return nil, fmt.Errorf("reserve storage: %w; try again", errors.Join(ctx.Err(), o.last))
	}
}

// enter puts an order in line and sees that somebody works on it.
func (l *Ledger) enter(o *order) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiting = append(l.waiting, o)
	if !l.running {
		l.running = true
		go l.work()
	}
}

// work answers orders until none waits.
func (l *Ledger) work() {
	for {
		<-time.After(gather)
		batch := l.take(true)
		if len(batch) == 0 {
			return
		}
		l.commit(batch)
	}
}

// take empties the line. last ends the work where it is empty.
func (l *Ledger) take(last bool) []*order {
	l.mu.Lock()
	defer l.mu.Unlock()
	batch := l.waiting
	l.waiting = nil
	if last && len(batch) == 0 {
		l.running = false
	}
	return batch
}

// commit tries until all orders are answered or have given up. Those that come
// meanwhile join in.
func (l *Ledger) commit(batch []*order) {
	for attempt := 0; ; attempt++ {
		batch = slices.DeleteFunc(batch, func(o *order) bool { return o.ctx.Err() != nil })
		if len(batch) == 0 {
			return
		}
		err := l.try(batch)
		if err == nil {
			return
		}
		l.mu.Lock()
		for _, o := range batch {
			o.last = err
		}
		l.mu.Unlock()
		<-time.After(backOff(attempt))
		batch = append(batch, l.take(false)...)
	}
}

// backOff grows to about 50 ms, most of it left to chance, so that replicas that met
// once do not meet again. It stays short: who waits longer than others write is
// overtaken by them every time.
func backOff(attempt int) time.Duration {
	most := min(4*time.Millisecond<<min(attempt, 10), 50*time.Millisecond)
	return most/2 + rand.N(most)
}

// try judges a batch on the record as it is now, writes what is to be kept, and
// answers. On an error nobody is answered; what was written nevertheless is found by
// its key the next time.
func (l *Ledger) try(batch []*order) error {
	ctx, cancel := context.WithTimeout(context.Background(), reserveWithin)
	defer cancel()
	record, version, err := l.record.Read(ctx)
	if err != nil {
		return err
	}
	if err := l.follow(ctx, record.Seen); err != nil {
		return err
	}
	answers, changed := make([]answer, len(batch)), false
	l.known.Use(func(b *storage.Book) {
		b.SetReservations(record.Reservations)
		record.Settle(b)
		for i, o := range batch {
			kept := false
			answers[i], kept = l.judge(b, &record, o.Change)
			changed = changed || kept
		}
	})
	if changed {
		err = l.record.Write(ctx, record, version)
	}
	switch {
	case errors.Is(err, storage.ErrFull):
		for i, o := range batch {
			if !o.Dry {
				answers[i] = answer{err: storage.ErrFull}
			}
		}
	case err != nil:
		return err
	}
	for i, o := range batch {
		o.done <- answers[i]
	}
	return nil
}

// judge says whether a change fits and, if so, adds it to the record.
func (l *Ledger) judge(b *storage.Book, record *storage.Record, c Change) (a answer, kept bool) {
	if have, ok := record.Find(c.Key); ok && have.Claim == c.Claim {
		return answer{}, false
	}
	if short := b.Check(c.Key, c.Claim); len(short) > 0 {
		return answer{short: inWords(short, c.Claim, b)}, false
	}
	if c.Dry {
		return answer{}, false
	}
	r := storage.Reservation{Key: c.Key, Claim: c.Claim, At: l.now().UTC().Truncate(time.Second)}
	if err := record.Add(r); err != nil {
		return answer{err: err}, false
	}
	b.Reserve(r)
	return answer{}, true
}

// inWords puts shortfalls into words for the people of a claim's namespace.
func inWords(short []storage.Shortfall, c storage.Claim, b *storage.Book) []Short {
	sees := b.Sees(c.Namespace, c.Owner.User)
	out := make([]Short, len(short))
	for i := range short {
		out[i] = Short{Measure: short[i].Measure, Reason: short[i].Reason(), Sentence: short[i].Sentence(sees)}
	}
	return out
}

// follow waits until the claims up to a version are known, and asks for them where
// that takes long.
func (l *Ledger) follow(ctx context.Context, version uint64) error {
	for waited := time.Duration(0); !l.known.Covers(version); waited += gather {
		if waited >= catchUp {
			return l.known.Refresh(ctx)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for volume claims up to version %d: %w", version, ctx.Err())
		case <-time.After(gather):
		}
	}
	return nil
}
