// SPDX-License-Identifier: Apache-2.0

package claims

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/quota/storage"
)

const gi = int64(1) << 30

// fakeClaims is a replica's knowledge, as the test gives it.
type fakeClaims struct {
	mu        sync.Mutex
	book      *storage.Book
	version   uint64
	refreshed int
	// live is what a refresh finds.
	live []storage.Claim
}

func newFakeClaims(total string) *fakeClaims {
	size := resource.MustParse(total)
	return &fakeClaims{book: storage.NewBook([]v1alpha1.StorageQuota{{
		ObjectMeta: metav1.ObjectMeta{Name: "vision"},
		Spec:       v1alpha1.StorageQuotaSpec{Scope: v1alpha1.QuotaScope{Project: "vision"}, Limits: v1alpha1.StorageLimits{Total: &size}},
	}})}
}

func (f *fakeClaims) Covers(version uint64) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.version >= version
}

func (f *fakeClaims) Refresh(context.Context) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.refreshed++
	for _, c := range f.live {
		f.book.Charge(c)
		f.version = max(f.version, c.Version)
	}
	return nil
}

func (f *fakeClaims) Use(use func(*storage.Book)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	use(f.book)
}

// fakeRecord is the shared record. Each call takes a millisecond.
type fakeRecord struct {
	mu     sync.Mutex
	record storage.Record
	turn   int
	writes int
	// fail, where it is not nil, says what becomes of write n, from 1: whether it
	// arrives, and what the writer hears.
	fail func(n int) (arrives bool, err error)
	// stall is how long a read takes.
	stall time.Duration
}

func (f *fakeRecord) Read(ctx context.Context) (storage.Record, string, error) {
	select {
	case <-time.After(max(f.stall, time.Millisecond)):
	case <-ctx.Done():
		return storage.Record{}, "", ctx.Err()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	out := f.record
	out.Reservations = append([]storage.Reservation(nil), out.Reservations...)
	return out, strconv.Itoa(f.turn), nil
}

func (f *fakeRecord) Write(_ context.Context, r storage.Record, version string) error {
	time.Sleep(time.Millisecond)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.writes++
	if version != strconv.Itoa(f.turn) {
		return storage.ErrConflict
	}
	arrives, err := true, error(nil)
	if f.fail != nil {
		arrives, err = f.fail(f.writes)
	}
	if arrives {
		f.record, f.turn = r, f.turn+1
	}
	return err
}

func newClaim(i int, size int64) Change {
	c := storage.Claim{UID: fmt.Sprint("uid", i), Namespace: "team", Name: fmt.Sprint("c", i), Owner: storage.Owner{Project: "vision", User: "alice"}, Bytes: size}
	return Change{Key: storage.CreateKey(c), Claim: c}
}

// inBubble runs a test in time of its own. It fails where work goes on a minute
// after the last answer.
func inBubble(t *testing.T, run func(*testing.T)) {
	synctest.Test(t, func(t *testing.T) {
		run(t)
		time.Sleep(time.Minute)
	})
}

func TestRequestsAtOnceShareAWrite(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		claims, record := newFakeClaims("40Gi"), &fakeRecord{}
		l := NewLedger(claims, record, time.Now)
		var wg sync.WaitGroup
		var mu sync.Mutex
		fit, short := 0, 0
		for i := range 100 {
			wg.Go(func() {
				refusals, err := l.Reserve(t.Context(), newClaim(i, gi))
				mu.Lock()
				defer mu.Unlock()
				switch {
				case err != nil:
					t.Errorf("claim %d: %v", i, err)
				case len(refusals) == 0:
					fit++
				default:
					short++
				}
			})
		}
		wg.Wait()
		if fit != 40 || short != 60 || len(record.record.Reservations) != 40 {
			t.Errorf("%d fit, %d do not, %d are kept room for; want 40, 60 and 40", fit, short, len(record.record.Reservations))
		}
		if record.writes != 1 {
			t.Errorf("%d writes, want 1 for all", record.writes)
		}
	})
}

// TestReplicasMeet has two ledgers, each with knowledge of its own, write one record.
func TestReplicasMeet(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		record := &fakeRecord{}
		ledgers := []*Ledger{
			NewLedger(newFakeClaims("100Gi"), record, time.Now), NewLedger(newFakeClaims("100Gi"), record, time.Now),
		}
		var wg sync.WaitGroup
		for i := range 200 {
			wg.Go(func() {
				time.Sleep(time.Duration(i) * 700 * time.Microsecond)
				if _, err := ledgers[i%2].Reserve(t.Context(), newClaim(i, gi)); err != nil {
					t.Errorf("claim %d: %v", i, err)
				}
			})
		}
		wg.Wait()
		if n := len(record.record.Reservations); n != 100 {
			t.Errorf("%d are kept room for, want exactly 100", n)
		}
		if record.writes == record.turn {
			t.Error("the ledgers never met")
		}
	})
}

func TestLostAnswersAreFound(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		record := &fakeRecord{fail: func(n int) (bool, error) {
			if n == 1 {
				return true, errors.New("the connection broke")
			}
			return true, nil
		}}
		l := NewLedger(newFakeClaims("1Gi"), record, time.Now)
		refusals, err := l.Reserve(t.Context(), newClaim(1, gi))
		if err != nil || len(refusals) > 0 || len(record.record.Reservations) != 1 {
			t.Errorf("got %v, %v with %d reservations; want it let through with one", refusals, err, len(record.record.Reservations))
		}
		// The API server asks again, of whichever replica.
		again, err := NewLedger(newFakeClaims("1Gi"), record, time.Now).Reserve(t.Context(), newClaim(1, gi))
		if err != nil || len(again) > 0 || record.writes != 1 {
			t.Errorf("asked again: %v, %v after %d writes; want the same answer and no more writes", again, err, record.writes)
		}
		dry := newClaim(2, gi)
		dry.Dry = true
		if refusals, err := l.Reserve(t.Context(), dry); err != nil || len(refusals) != 1 || refusals[0].Reason != v1alpha1.ReasonProjectQuotaReached {
			t.Errorf("dry run of too much: %v, %v", refusals, err)
		}
	})
}

func TestWaitingIsBounded(t *testing.T) {
	for name, record := range map[string]*fakeRecord{
		"conflicts without end": {fail: func(int) (bool, error) { return false, storage.ErrConflict }},
		"the API server hangs":  {stall: time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				l := NewLedger(newFakeClaims("1Gi"), record, time.Now)
				start := time.Now()
				_, err := l.Reserve(t.Context(), newClaim(1, gi))
				if err == nil || !strings.Contains(err.Error(), "try again") {
					t.Errorf("got %v, want an error that says to try again", err)
				}
				if took := time.Since(start); took != reserveWithin {
					t.Errorf("answered after %v, want %v", took, reserveWithin)
				}
				if len(record.record.Reservations) > 0 {
					t.Error("room is kept for what was refused")
				}
			})
		})
	}
}

func TestWhoLagsBehindAsks(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		claims, record := newFakeClaims("10Gi"), &fakeRecord{record: storage.Record{Seen: 7}}
		c := newClaim(1, 10*gi).Claim
		c.Version = 7
		claims.live = []storage.Claim{c}
		l := NewLedger(claims, record, time.Now)
		refusals, err := l.Reserve(t.Context(), newClaim(2, gi))
		if err != nil || len(refusals) != 1 || claims.refreshed != 1 {
			t.Errorf("got %v, %v after %d lists; want a refusal after one", refusals, err, claims.refreshed)
		}
		if _, err := l.Reserve(t.Context(), newClaim(3, gi)); err != nil || claims.refreshed != 1 {
			t.Errorf("%v, %d lists; want no further one", err, claims.refreshed)
		}
	})
}

func TestAFullRecordRefuses(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		record := &fakeRecord{}
		for i := range storage.MaxReservations {
			c := newClaim(i, 1)
			_ = record.record.Add(storage.Reservation{Key: c.Key, Claim: c.Claim})
		}
		l := NewLedger(newFakeClaims("1Gi"), record, time.Now)
		refusals, err := l.Reserve(t.Context(), newClaim(9999, 1))
		if !errors.Is(err, storage.ErrFull) {
			t.Errorf("got %v, %v", refusals, err)
		}
		record.fail = func(int) (bool, error) { return false, storage.ErrFull }
		record.record.Reservations = nil
		refusals, err = l.Reserve(t.Context(), newClaim(1, 1))
		if !errors.Is(err, storage.ErrFull) {
			t.Errorf("a record that is too long: %v, %v", refusals, err)
		}
		free := newClaim(5, 1)
		free.Claim.Owner.Project = "free"
		writes := record.writes
		if refusals, err := l.Reserve(t.Context(), free); err != nil || len(refusals) > 0 || record.writes != writes {
			t.Errorf("what no quota binds: %v, %v, %d writes", refusals, err, record.writes-writes)
		}
	})
}
