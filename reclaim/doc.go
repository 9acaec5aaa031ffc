// SPDX-License-Identifier: Apache-2.0

// Package reclaim decides how long a Workspace may hold its set, when its user is
// warned, and when it is paused. Everything is a pure function of plain data: the
// loop, dry runs and tests use the same code.
//
// # The clock
//
// It runs while a pod of the workload is on a node. It stops without one and goes on
// with the next, so whoever deletes a pod gains nothing. A pause ends it: what is
// resumed has a clock of its own. All times are kept to the second, rounded so that
// nothing ends early.
//
// # The deadline
//
// [Bind] finds the strictest of each rule among the policies that bind. A limit on
// occupancy gives a deadline from the start on, an idle rule only when the first
// warning of it is near: as long as somebody works it would move each minute.
// Whichever comes first counts.
//
// # What puts it off
//
// There is at least the policy's grace between a warning and the pause that it speaks
// of. A warning holds for the time that it named and any later one, so neither a
// deleted pod nor a small extension nor an hour of work between two rules renews the
// grace. A deadline that comes nearer is announced anew, and so is what fell due while
// no controller was there. And nothing is paused in quiet hours.
//
// # Unknown is not idle
//
// Only what was watched for the whole window, without a gap and in all signals that
// the policy asks for, is idle. Clocks of nodes that are off by more than [Fresh] are
// a gap too.
package reclaim
