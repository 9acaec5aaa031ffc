// SPDX-License-Identifier: Apache-2.0

package socket

import (
	"time"

	"aipub.io/aipub/sharer"
)

// complaintPause is how long nothing is said of what goes on being wrong.
const complaintPause = time.Minute

// complaint is something that may be wrong many times a second because a container
// wants it so. It is said at once, and then at most once a minute with how often
// it was seen since.
type complaint struct {
	said  sharer.Instant // when it was said last; 0: never
	times int            // since then
}

// due takes one case in, and reports whether to say so, and of how many cases.
func (c *complaint) due(now sharer.Instant) (times int, say bool) {
	c.times++
	if c.said != 0 && now.Sub(c.said) < complaintPause {
		return 0, false
	}
	times, c.times, c.said = c.times, 0, now
	return times, true
}

// complain logs a warning, unless the same was logged less than a minute ago.
func (s *Server) complain(c *complaint, message string, args ...any) {
	if times, say := c.due(s.config.Now()); say {
		s.config.Log.Warn(message, append(args, "times", times)...)
	}
}

// complaints are what is said of one slice's container.
type complaints struct {
	page, impostor, unverified, refused complaint
}
