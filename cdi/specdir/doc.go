// SPDX-License-Identifier: Apache-2.0

// Package specdir keeps the CDI spec files of a node's slices in the directory
// that the container runtime watches.
//
// Files are replaced by rename, so the runtime reads the old spec or the new one.
// A file that would not change is not touched, since each change makes the
// runtime read the directory again. Only files with this project's names are
// ever removed.
package specdir
