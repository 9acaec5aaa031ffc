// SPDX-License-Identifier: Apache-2.0

package reclaim

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "aipub.io/aipub/api/v1alpha1"
)

// Shift moves a clock with a step of the wall clock, so that what is left of it stays
// the same. A part of a second is rounded so that nothing ends early.
func Shift(o api.Occupancy, step time.Duration) api.Occupancy {
	whole := step.Truncate(time.Second)
	if whole < step {
		whole += time.Second
	}
	out := *o.DeepCopy()
	times := []*metav1.Time{out.Since, out.ExpiresAt, out.ActiveAt}
	for i := range out.Warnings {
		times = append(times, &out.Warnings[i].At, &out.Warnings[i].ExpiresAt)
	}
	for i := range out.Extensions {
		times = append(times, &out.Extensions[i].At)
	}
	for _, t := range times {
		if t != nil {
			t.Time = t.Add(whole)
		}
	}
	return out
}

// mostBackoff is the longest wait before saving is tried again.
const mostBackoff = 30 * time.Minute

// Backoff is how long to wait after so many failed attempts to save: 1, 2, 4 minutes
// and so on, at most 30. It is 0 without any.
func Backoff(attempts int) time.Duration {
	switch {
	case attempts <= 0:
		return 0
	case attempts > 5:
		return mostBackoff
	}
	return time.Minute << (attempts - 1)
}
