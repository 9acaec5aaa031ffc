// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"
)

// ErrConflict is returned for a record that somebody else has changed meanwhile.
var ErrConflict = errors.New("the reservations have changed meanwhile")

// ErrFull is returned where a record takes no further reservation.
var ErrFull = errors.New("too many claims were admitted at once")

// Limits of a record. The bytes stay below what a ConfigMap may hold.
const (
	MaxReservations = 2000
	maxRecordBytes  = 900_000
	// crowded is from when on reservations end as soon as their claims are seen.
	crowded = MaxReservations / 2
)

// Reservation keeps room for a claim that was admitted.
type Reservation struct {
	// Key makes a repeated request the same; see [CreateKey] and [ChangeKey].
	Key   string
	Claim Claim
	// At is when it was written, for people; nothing is decided by it.
	At time.Time
}

// CreateKey is the key of a claim's creation.
func CreateKey(c Claim) string { return c.UID }

// ChangeKey is the key of a change of a claim that exists, to a size and perhaps
// another class.
func ChangeKey(before, after Claim) string {
	key := after.UID + ":" + strconv.FormatInt(after.Bytes, 10)
	if before.Class != after.Class {
		key += ":" + after.Class
	}
	return key
}

// metBy reports whether a claim that exists is what was reserved.
func (r Reservation) metBy(c Claim) bool {
	return r.Claim.UID == c.UID && (r.Key == CreateKey(c) || c.Bytes >= r.Claim.Bytes && c.Class == r.Claim.Class)
}

// Record is what all replicas agree on.
type Record struct {
	// Seen is the highest version of a claim whose reservation has ended: who does
	// not know all claims up to it may miss one.
	Seen         uint64
	Reservations []Reservation
}

// Find returns the reservation of a key.
func (r *Record) Find(key string) (Reservation, bool) {
	if i := r.index(key); i >= 0 {
		return r.Reservations[i], true
	}
	return Reservation{}, false
}

func (r *Record) index(key string) int {
	return slices.IndexFunc(r.Reservations, func(have Reservation) bool { return have.Key == key })
}

// Add keeps a reservation, in place of one of the same key. The error is ErrFull.
func (r *Record) Add(n Reservation) error {
	if i := r.index(n.Key); i >= 0 {
		r.Reservations[i] = n
		return nil
	}
	if len(r.Reservations) >= MaxReservations {
		return ErrFull
	}
	r.Reservations = append(r.Reservations, n)
	return nil
}

// End takes reservations out.
func (r *Record) End(keys map[string]bool) {
	r.Reservations = slices.DeleteFunc(r.Reservations, func(have Reservation) bool { return keys[have.Key] })
}

// Settle ends, while the record is half full, the reservations whose claims the book
// knows to exist or to be gone.
func (r *Record) Settle(b *Book) {
	if len(r.Reservations) < crowded {
		return
	}
	r.Reservations = slices.DeleteFunc(r.Reservations, func(have Reservation) bool {
		state, version := b.StateOf(have)
		if state == Met {
			r.Seen = max(r.Seen, version)
		}
		return state != Unseen
	})
}

// saved is the form in which a record is kept.
type saved struct {
	Format       int          `json:"format"`
	Seen         uint64       `json:"seen,omitempty"`
	Reservations []savedEntry `json:"reservations,omitempty"`
}

type savedEntry struct {
	Key       string    `json:"key"`
	UID       string    `json:"uid"`
	Namespace string    `json:"namespace"`
	Name      string    `json:"name"`
	Project   string    `json:"project"`
	User      string    `json:"user,omitempty"`
	Class     string    `json:"class,omitempty"`
	Bytes     int64     `json:"bytes"`
	At        time.Time `json:"at"`
}

// format is that of today. A replica that does not know a format refuses to go on.
const format = 1

// Encode turns the record into text. The error is ErrFull where that is too long.
func (r Record) Encode() (string, error) {
	out := saved{Format: format, Seen: r.Seen}
	for _, have := range r.Reservations {
		c := have.Claim
		out.Reservations = append(out.Reservations, savedEntry{
			have.Key, c.UID, c.Namespace, c.Name, c.Owner.Project, c.Owner.User, c.Class, c.Bytes, have.At,
		})
	}
	raw, err := json.Marshal(out)
	if err != nil {
		return "", fmt.Errorf("encode reservations: %w", err)
	}
	if len(raw) > maxRecordBytes {
		return "", ErrFull
	}
	return string(raw), nil
}

// DecodeRecord reads what Encode wrote; empty text is an empty record.
func DecodeRecord(text string) (Record, error) {
	if text == "" {
		return Record{}, nil
	}
	var in saved
	if err := json.Unmarshal([]byte(text), &in); err != nil {
		return Record{}, fmt.Errorf("decode reservations: %w", err)
	}
	if in.Format != format {
		return Record{}, fmt.Errorf("decode reservations: field format: %d: this version reads %d; let the newer version of the controller run alone", in.Format, format)
	}
	r := Record{Seen: in.Seen}
	for _, e := range in.Reservations {
		if e.Key == "" || e.Bytes < 0 {
			return Record{}, fmt.Errorf("decode reservations: %q: has no key or a size below 0", e.Key)
		}
		r.Reservations = append(r.Reservations, Reservation{Key: e.Key, At: e.At, Claim: Claim{
			UID: e.UID, Namespace: e.Namespace, Name: e.Name,
			Owner: Owner{e.Project, e.User}, Class: e.Class, Bytes: e.Bytes,
		}})
	}
	return r, nil
}
