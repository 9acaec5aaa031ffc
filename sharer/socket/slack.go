// SPDX-License-Identifier: Apache-2.0

package socket

import "time"

// slack is how much later than its processes predict the work of a tenant is
// done. The next tenant may be let in shortly before the predicted end, so a
// prediction that is always too early would take time from others. It is
// corrected by what the last ones were wrong by, whatever they were made of.
type slack time.Duration

// onTime is what a true prediction may be late by: the messages and wake-ups on
// the way.
const onTime = 500 * time.Microsecond

// learn takes in by how much a prediction was late. One that was worse counts at
// once, better ones little by little.
func (s *slack) learn(late time.Duration) {
	*s = max(*s-*s/8, slack(late-onTime), 0)
}
