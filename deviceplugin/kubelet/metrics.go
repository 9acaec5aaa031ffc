// SPDX-License-Identifier: Apache-2.0

package kubelet

import (
	"errors"
	"time"
)

// Metrics are told what happens. Each function may be nil and may be called
// from several goroutines at once.
type Metrics struct {
	// Registered: an attempt to register a set took this long; err is nil when
	// the kubelet accepted it.
	Registered func(set string, took time.Duration, err error)
	// Allocated: an Allocate call took this long. refusal is empty, or the
	// reason for which it was refused ("Overlap" is a lost race between sizes).
	Allocated func(set string, took time.Duration, refusal string)
	// Listed: a stream was sent a list this long after the node's state changed.
	Listed func(set string, after time.Duration)
	// Streams: a stream of the set has connected (1) or ended (-1). Over a new
	// registration the new stream connects before the old one ends.
	Streams func(set string, delta int)
	// Withdrawn: the set is not served any more, and all of its streams have ended.
	Withdrawn func(set string)
	// Observed: asking PodResources took this long; err is nil when it answered.
	Observed func(took time.Duration, err error)
}

func (m Metrics) registered(set string, took time.Duration, err error) {
	if m.Registered != nil {
		m.Registered(set, took, err)
	}
}

func (m Metrics) allocated(set string, took time.Duration, err error) {
	if m.Allocated != nil {
		m.Allocated(set, took, label(err))
	}
}

func (m Metrics) listed(set string, after time.Duration) {
	if m.Listed != nil {
		m.Listed(set, after)
	}
}

func (m Metrics) streams(set string, delta int) {
	if m.Streams != nil {
		m.Streams(set, delta)
	}
}

func (m Metrics) withdrawn(set string) {
	if m.Withdrawn != nil {
		m.Withdrawn(set)
	}
}

func (m Metrics) observed(took time.Duration, err error) {
	if m.Observed != nil {
		m.Observed(took, err)
	}
}

// label is the reason that an error carries.
func label(err error) string {
	if err == nil {
		return ""
	}
	if l, ok := errors.AsType[interface {
		error
		MetricLabel() string
	}](err); ok {
		return l.MetricLabel()
	}
	return "Other"
}
