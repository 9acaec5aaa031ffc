// SPDX-License-Identifier: Apache-2.0

// Package store keeps the record of what a node was divided into, so that after
// a restart or a reboot the agent can advertise the same slices under the same
// IDs before the driver has answered.
//
// The record is one JSON file: a version, a checksum and the [Record]. It is
// replaced as a whole (temporary file, fsync, rename, fsync of the directory), so
// a crash at any moment leaves the old record or the new one.
//
// A file that cannot be trusted is moved aside, never deleted, and Load says so;
// the agent then starts from the hardware.
package store
