// SPDX-License-Identifier: Apache-2.0

// Package sim runs the arbiter of package sharer against modelled GPUs and
// processes in virtual time, so that hours of sharing take seconds and a seed
// repeats them.
//
// A GPU works off commands in the order of their arrival, each to its end. A
// process behaves as the preloaded library makes it: it issues work only under a
// lease, keeps a bounded time in flight, shuts its gate when the lease runs out
// or is recalled, says when the work in flight will be done and when it is, and
// gives back a lease that it leaves idle. Messages between a process and the
// arbiter take time. How a command is launched (plain, cooperative, with
// attributes) makes no difference here; a graph is one long command.
//
// What the model leaves out: the driver's own time slicing where two tenants
// have work in flight, of which it has only what that costs; memory bandwidth;
// and errors in the library's predictions other than a random one.
package sim
