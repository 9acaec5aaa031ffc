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
	maxHours        = 99_999
	maxIdleMinutes  = 525_600
	maxGraceMinutes = 10_080
)

// Check says what is wrong with a policy beyond what its schema refuses: a time zone
// that does not exist, or quiet hours without an end.
func Check(p api.ReclaimPolicySpec) error {
	_, err := check(p)
	return err
}

func check(p api.ReclaimPolicySpec) (quiet, error) {
	type number struct {
		field      string
		n          int32
		least, top int32
	}
	numbers := []number{
		{"maxOccupancyHours", p.MaxOccupancyHours, 0, maxHours},
		{"maxExtensionHours", p.MaxExtensionHours, 0, maxHours},
	}
	if p.Idle != nil {
		numbers = append(numbers, number{"idle.afterMinutes", p.Idle.AfterMinutes, 1, maxIdleMinutes})
	}
	if p.GraceMinutes != nil {
		numbers = append(numbers, number{"graceMinutes", *p.GraceMinutes, 0, maxGraceMinutes})
	}
	for _, x := range numbers {
		if x.n < x.least || x.n > x.top {
			return nil, fmt.Errorf("spec.%s: %d is not allowed; give %d to %d", x.field, x.n, x.least, x.top)
		}
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
