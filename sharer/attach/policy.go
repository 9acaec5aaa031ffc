// SPDX-License-Identifier: Apache-2.0

package attach

import (
	"fmt"
	"time"

	"aipub.io/aipub/sharer"
)

// Policy says what to do about processes that use a GPU past the limiter.
type Policy string

// The policies, gentlest first.
const (
	Warn  Policy = "warn"  // report
	Evict Policy = "evict" // report, and evict the pod
	Kill  Policy = "kill"  // report, and kill the process
)

// ParsePolicy reads a policy.
func ParsePolicy(s string) (Policy, error) {
	switch p := Policy(s); p {
	case Warn, Evict, Kill:
		return p, nil
	}
	return "", fmt.Errorf("parse attachment policy: %q, allowed are %s, %s and %s", s, Warn, Evict, Kill)
}

// Decide says what to do about a finding now. Only what is proven to be past the
// limiter is more than reported, and only once it has lasted for patience, so
// that there is time to read the report. A process that is in no pod cannot be
// evicted; one outside of any slice is the administrator's, and only reported.
func (p Policy) Decide(f Finding, now sharer.Instant, patience time.Duration) Policy {
	switch {
	case !f.proven() || now.Sub(f.Since) < patience:
		return Warn
	case p == Evict && f.Container.PodUID == "":
		return Warn
	case p == Kill && f.Process.PID <= 0:
		return Warn
	case p == Evict || p == Kill:
		return p
	}
	return Warn
}

// proven reports whether a finding is of a kind that is treated, and sure.
func (f Finding) proven() bool {
	switch f.Reason {
	case NotAttached, WrongSlice, OverMemory:
		return true
	case UnaccountedTime, UnaccountedMemory:
		return !f.Unsure
	case Foreign, StaleBuild, Ungated, DamagedPage:
	}
	return false
}
