// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestRecordKeepsWhatItIsGiven(t *testing.T) {
	r := Record{Seen: 12}
	for i := range 3 {
		n := reservation(claim(fmt.Sprint("u", i), fmt.Sprint("n", i), "alice", gi))
		n.At = time.Unix(1000, 0).UTC()
		if err := r.Add(n); err != nil {
			t.Fatal(err)
		}
	}
	same := r.Reservations[1]
	same.Claim.Name = "another"
	if err := r.Add(same); err != nil || len(r.Reservations) != 3 {
		t.Fatalf("added again: %v, %d reservations", err, len(r.Reservations))
	}
	text, err := r.Encode()
	if err != nil {
		t.Fatal(err)
	}
	back, err := DecodeRecord(text)
	if err != nil || !reflect.DeepEqual(back, r) {
		t.Errorf("read back %+v, %v; want %+v", back, err, r)
	}
	if empty, err := DecodeRecord(""); err != nil || len(empty.Reservations) != 0 {
		t.Errorf("empty text is %+v, %v", empty, err)
	}
}

func TestRecordRefusesWhatItDoesNotKnow(t *testing.T) {
	for text, want := range map[string]string{
		`{"format":2}`: "field format: 2",
		`nonsense`:     "decode reservations",
		`{"format":1,"reservations":[{"key":"","bytes":1}]}`:   "no key",
		`{"format":1,"reservations":[{"key":"k","bytes":-1}]}`: "below 0",
	} {
		if _, err := DecodeRecord(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want an error with %q", text, err, want)
		}
	}
}

func TestRecordIsBounded(t *testing.T) {
	var r Record
	for i := range MaxReservations {
		if err := r.Add(reservation(claim(fmt.Sprint("u", i), "n", "alice", gi))); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.Add(reservation(claim("more", "n", "alice", gi))); !errors.Is(err, ErrFull) {
		t.Errorf("one too many: %v", err)
	}
	if _, err := r.Encode(); err != nil {
		t.Errorf("as many as may be: %v", err)
	}
	for i := range r.Reservations {
		r.Reservations[i].Claim.Name = strings.Repeat("n", 253)
		r.Reservations[i].Claim.Owner.User = strings.Repeat("u", 253)
	}
	if _, err := r.Encode(); !errors.Is(err, ErrFull) {
		t.Errorf("too long: %v", err)
	}
}

func TestCrowdedRecordEndsWhatIsSeen(t *testing.T) {
	b, r := NewBook(nil), Record{}
	for i := range crowded {
		c := claim(fmt.Sprint("u", i), fmt.Sprint("n", i), "alice", gi)
		if i == crowded-1 {
			r.Settle(b)
			if len(r.Reservations) != i {
				t.Fatalf("%d reservations before it is crowded, want %d", len(r.Reservations), i)
			}
		}
		_ = r.Add(reservation(c))
		switch {
		case i < 10:
			c.Version = uint64(100 + i)
			b.Charge(c)
		case i < 20:
			b.Charge(c)
			b.Release(c.UID)
		}
	}
	r.Settle(b)
	if len(r.Reservations) != crowded-20 || r.Seen != 109 {
		t.Errorf("%d reservations, seen up to %d; want %d and 109", len(r.Reservations), r.Seen, crowded-20)
	}
}

func TestAging(t *testing.T) {
	start := time.Unix(0, 0)
	create := reservation(claim("u", "n", "alice", gi))
	resize := Reservation{Key: "v:2", Claim: claim("v", "m", "alice", 2)}
	gone := reservation(claim("w", "o", "alice", gi))
	r := Record{Reservations: []Reservation{create, resize, gone}}
	b := NewBook(nil)
	b.Charge(gone.Claim)
	b.Charge(claim("v", "m", "alice", 1))
	var a Aging
	keys := func(set map[string]bool) string { return strings.Join(slices.Sorted(maps.Keys(set)), " ") }
	look := func(after time.Duration) string {
		over, overdue := a.Look(start.Add(after), r, func(r Reservation) State { s, _ := b.StateOf(r); return s })
		return keys(over) + "; " + keys(overdue)
	}
	expect := func(after time.Duration, want string) {
		t.Helper()
		if got := look(after); got != want {
			t.Errorf("after %v: %s, want %s", after, got, want)
		}
	}
	expect(0, "; ")
	b.Release("w")
	expect(time.Second, "w; ")
	expect(Expire-time.Nanosecond, "w; ")
	expect(Expire, "w; u v:2")
	b.Charge(create.Claim)
	b.Charge(claim("v", "m", "alice", 2))
	expect(Expire+time.Second, "w; ")
	// It shrinks again before its minute is over: it has to be met for a minute at a stretch.
	b.Charge(claim("v", "m", "alice", 1))
	expect(Expire+2*time.Second, "w; v:2")
	b.Charge(claim("v", "m", "alice", 3))
	expect(Expire+3*time.Second, "w; ")
	expect(Expire+time.Second+Confirm, "u w; ")
	expect(Expire+3*time.Second+Confirm, "u v:2 w; ")

	// Who takes over measures anew.
	a = Aging{}
	expect(time.Hour, "w; ")
}
