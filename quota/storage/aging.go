// SPDX-License-Identifier: Apache-2.0

package storage

import "time"

// How long a reservation stays once its claim is seen, and without one.
const (
	Confirm = time.Minute
	Expire  = 2 * time.Minute
)

// State is what a book knows of a reservation.
type State int

// The states.
const (
	// Unseen: its claim does not exist, or not yet as it was reserved.
	Unseen State = iota
	// Met: its claim exists as it was reserved.
	Met
	// Gone: its claim existed and was deleted.
	Gone
)

// Aging knows since when each reservation is in the state that it is in. Its owner
// alone measures; the zero value is ready.
type Aging struct {
	first, met map[string]time.Time
}

// Look says which reservations have had their time: those in over end now; those in
// overdue end if a fresh list of all claims does not show them either.
func (a *Aging) Look(now time.Time, r Record, state func(Reservation) State) (over, overdue map[string]bool) {
	over, overdue = map[string]bool{}, map[string]bool{}
	first, met := make(map[string]time.Time, len(r.Reservations)), map[string]time.Time{}
	for _, have := range r.Reservations {
		first[have.Key] = earlier(a.first, have.Key, now)
		switch state(have) {
		case Gone:
			over[have.Key] = true
		case Met:
			met[have.Key] = earlier(a.met, have.Key, now)
			if now.Sub(met[have.Key]) >= Confirm {
				over[have.Key] = true
			}
		case Unseen:
			if now.Sub(first[have.Key]) >= Expire {
				overdue[have.Key] = true
			}
		}
	}
	a.first, a.met = first, met
	return over, overdue
}

func earlier(known map[string]time.Time, key string, now time.Time) time.Time {
	if at, ok := known[key]; ok {
		return at
	}
	return now
}
