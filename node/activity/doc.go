// SPDX-License-Identifier: Apache-2.0

// Package activity says when the container of a held slice last worked, as far
// as its node sees it. A Tracker turns samples into api.SliceActivity and does no
// I/O; a Host takes what the kernel shows of a container, its CPU time and its
// terminals; what GPUs do is handed in by the caller.
//
// # Signals
//
//   - gpu: kernels ran for more than a threshold of the time since the last sample.
//   - cpu: so did the container's processes on the CPU.
//   - terminal: a terminal had input or output. One that is open and silent is none.
//
// # Unknown is not idle
//
// A signal that was not seen for longer than Gap is in Unknown, and when it is
// seen again, the slice is watched anew: Since is then, and what was before is
// forgotten. So is what a former holder did.
//
// # Time
//
// All intervals are measured on a clock that never steps. Times are put on the
// node's clock only when they are told: a step moves all of them together and
// is neither activity nor time without it. They are rounded to the minute,
// so that a busy container is no reason to write more often, and in the direction
// that makes nobody look idle for longer: the beginning of the watch and
// the activity up, the last sample down.
package activity
