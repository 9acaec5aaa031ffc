// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/quota/storage"
)

const (
	// storageEvery is the shortest time between two looks at what changed.
	storageEvery = time.Second
	// storageIdle is the longest: reservations come by other replicas too.
	storageIdle = 5 * time.Second
)

// StorageLeader ends reservations and writes the status of storage quotas. One replica
// runs it.
type StorageLeader struct {
	watch  *StorageWatch
	client client.Client
	record *StorageRecord
	clock  clock.Clock
	aging  storage.Aging
	// Observe is told of each round, for metrics; it may be nil. It is set before Start.
	Observe func(StorageRound)
}

// StorageRound is what came of one round of the look at reservations.
type StorageRound struct {
	// Reservations that are left: claims that were admitted and are not settled yet.
	Reservations int
	// Met are those that ended because their claim was seen, or was gone again; Unused
	// those whose claim never came.
	Met, Unused int
}

// NewStorageLeader makes one; c must not read from a cache.
func NewStorageLeader(watch *StorageWatch, record *StorageRecord, c client.Client, clk clock.Clock) *StorageLeader {
	return &StorageLeader{watch: watch, client: c, record: record, clock: clk}
}

// NeedLeaderElection says that one replica does it.
func (l *StorageLeader) NeedLeaderElection() bool { return true }

// Start works until the context ends.
func (l *StorageLeader) Start(ctx context.Context) error {
	log := logr.FromContextOrDiscard(ctx)
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-l.clock.After(storageEvery):
		}
		if !l.watch.Synced() {
			continue
		}
		if err := l.Round(ctx); err != nil && ctx.Err() == nil {
			log.Error(err, "Look after storage quotas")
		}
		select {
		case <-ctx.Done():
			return nil
		case <-l.watch.dirty:
		case <-l.clock.After(storageIdle):
		}
	}
}

// Round ends the reservations that have had their time, then writes what changed of
// the quotas' statuses.
func (l *StorageLeader) Round(ctx context.Context) error {
	record, round, err := l.sweep(ctx)
	if err != nil {
		return err
	}
	if l.Observe != nil {
		l.Observe(round)
	}
	l.watch.Use(func(b *storage.Book) { b.SetReservations(record.Reservations) })
	return l.writeStatuses(ctx)
}

// sweep returns the record without the reservations that ended. Where somebody was
// faster, the next round ends them.
func (l *StorageLeader) sweep(ctx context.Context) (storage.Record, StorageRound, error) {
	record, version, err := l.record.Read(ctx)
	round := StorageRound{Reservations: len(record.Reservations)}
	if err != nil {
		return record, round, err
	}
	found := l.look(record)
	if len(found.overdue) > 0 {
		if err := l.watch.Refresh(ctx); err != nil {
			return record, round, err
		}
		found = l.look(record)
	}
	ended := maps.Clone(found.over)
	maps.Copy(ended, found.overdue)
	if len(ended) == 0 {
		return record, round, nil
	}
	for key := range found.over {
		record.Seen = max(record.Seen, found.versions[key])
	}
	record.End(ended)
	switch err := l.record.Write(ctx, record, version); {
	case err == nil:
		round = StorageRound{Reservations: len(record.Reservations), Met: len(ended) - len(found.overdue), Unused: len(found.overdue)}
	case !errors.Is(err, storage.ErrConflict):
		return record, round, err
	}
	logr.FromContextOrDiscard(ctx).V(1).Info("Ended reservations of volume claims",
		"ended", len(ended), "unused", len(found.overdue), "left", len(record.Reservations))
	return record, round, nil
}

// sight is what one look at the reservations found.
type sight struct {
	over, overdue map[string]bool
	// versions are those of the claims that meet their reservations.
	versions map[string]uint64
}

func (l *StorageLeader) look(record storage.Record) sight {
	s := sight{versions: map[string]uint64{}}
	l.watch.Use(func(b *storage.Book) {
		s.over, s.overdue = l.aging.Look(l.clock.Now(), record, func(r storage.Reservation) storage.State {
			state, version := b.StateOf(r)
			s.versions[r.Key] = version
			return state
		})
	})
	return s
}

func (l *StorageLeader) writeStatuses(ctx context.Context) error {
	var errs []error
	for _, q := range l.watch.list() {
		var status api.StorageQuotaStatus
		l.watch.Use(func(b *storage.Book) { status = storageStatus(&q, b, l.clock.Now()) })
		if equality.Semantic.DeepEqual(q.Status, status) {
			continue
		}
		q.Status = status
		err := l.client.Status().Update(ctx, &q)
		if err != nil && !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
			errs = append(errs, fmt.Errorf("write status of StorageQuota %s: %w", q.Name, err))
		}
	}
	return errors.Join(errs...)
}

// storageStatus is the whole status of a quota.
func storageStatus(q *api.StorageQuota, b *storage.Book, now time.Time) api.StorageQuotaStatus {
	status := b.Status(q.Name)
	status.ObservedGeneration = q.Generation
	status.Conditions = conditions(q.Status.Conditions, q.Generation, now, applied(), overStorage(b.Over(q.Name)))
	return status
}

func overStorage(over []storage.Excess) metav1.Condition {
	if len(over) == 0 {
		return metav1.Condition{Type: api.ConditionOverQuota, Status: metav1.ConditionFalse, Reason: api.ReasonWithinQuota, Message: "no more is claimed than may be"}
	}
	var sentences []string
	for _, x := range over[:min(len(over), maxNamed)] {
		sentences = append(sentences, x.Sentence())
	}
	return metav1.Condition{Type: api.ConditionOverQuota, Status: metav1.ConditionTrue, Reason: api.ReasonOverLimit, Message: strings.Join(sentences, "; ")}
}

// maxNamed is how many exceeded limits a condition names.
const maxNamed = 10
