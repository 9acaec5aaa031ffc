// SPDX-License-Identifier: Apache-2.0

// Package oldglibc shows that the preloaded library works where users' images are
// old: in the oldest Debian that can still be had, and that it does not work in
// silence with a C library that it was not made for. `make old-glibc` prepares the
// file system and runs it.
package oldglibc
