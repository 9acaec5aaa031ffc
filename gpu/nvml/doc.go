// SPDX-License-Identifier: Apache-2.0

// Package nvml reads the hardware through the driver's management library:
// what the GPUs are and how they can be cut, which MIG instances and processes
// exist, and how healthy everything is.
//
// One [Driver] is opened at start and kept: opening costs hundreds of symbol
// look-ups, and handles stay valid until the driver is unloaded. A handle is
// looked up once per GPU, because a look-up by UUID can take seconds on a busy
// machine.
//
// Locks: each GPU has one lock, held over every call that reads or changes its
// partitioning, so that a reader never sees half of a change. No function takes
// two of them. Health probes take none: a probe must answer while an instance
// is being created.
//
// NVML calls cannot be interrupted. Where a context ends first, the call goes on
// in its own goroutine, keeps the GPU's lock, and its result is thrown away;
// the error says so. The caller must then read the hardware again before it
// decides anything.
//
// A call that the loaded library does not have would end the process (the
// symbols are bound lazily), so every call younger than driver R450 is looked up
// first.
package nvml
