// SPDX-License-Identifier: Apache-2.0

package reclaim

import (
	"errors"
	"fmt"
	"time"

	api "aipub.io/aipub/api/v1alpha1"
)

// The bounds of the API's schema, for what did not pass it.
const (
	maxHours   = 99_999
	maxMinutes = 525_600
)

// Check says what is wrong with a policy beyond what its schema refuses: a time zone
// that does not exist, or quiet hours without an end.
func Check(p api.ReclaimPolicySpec) error {
	_, err := check(p)
	return err
}

func check(p api.ReclaimPolicySpec) (quiet, error) {
	if h := p.MaxOccupancyHours; h < 0 || h > maxHours {
		return nil, fmt.Errorf("spec.maxOccupancyHours: %d is not allowed; give 0 (no limit) to %d", h, maxHours)
	}
	if h := p.MaxExtensionHours; h < 0 || h > maxHours {
		return nil, fmt.Errorf("spec.maxExtensionHours: %d is not allowed; give 0 to %d", h, maxHours)
	}
	if p.Idle != nil && (p.Idle.AfterMinutes < 1 || p.Idle.AfterMinutes > maxMinutes) {
		return nil, fmt.Errorf("spec.idle.afterMinutes: %d is not allowed; give 1 to %d", p.Idle.AfterMinutes, maxMinutes)
	}
	if g := p.GraceMinutes; g != nil && (*g < 0 || *g > maxMinutes) {
		return nil, fmt.Errorf("spec.graceMinutes: %d is not allowed; give 0 to 10080", *g)
	}
	for i, w := range p.WarnBefore {
		if w.Duration < time.Second || w.Duration > maxHours*time.Hour {
			return nil, fmt.Errorf("spec.warnBefore[%d]: %s is not allowed; give 1s to %dh", i, w.Duration, maxHours)
		}
	}
	q, err := parseQuiet(p.QuietHours)
	if err != nil {
		return nil, fmt.Errorf("spec.quietHours%w", err)
	}
	if q.endless() {
		return nil, errors.New("spec.quietHours: they leave no time of the week, so nothing would ever be paused; leave a gap, or set maxOccupancyHours to 0")
	}
	return q, nil
}
