// SPDX-License-Identifier: Apache-2.0

// Package save carries out the WorkspaceSnapshots of one node: it runs a container's
// hook, commits its file system, pushes it where there is a registry, and removes the
// image when the snapshot is deleted.
//
// A snapshot goes Pending → Saving → Saved or Failed, and never back: who wants another
// try makes another snapshot. One found Saving that nobody works on was begun by an agent
// that ended; it has failed (Interrupted).
//
// Everything is read from the API server itself, not from a cache: what was written last
// is what is seen.
package save
