// SPDX-License-Identifier: Apache-2.0

// Package arch holds no code: its tests are the rules of the house. They read
// the tree and fail when a folder imports what its row in the table does not
// allow, when a package has no row, and when a file or function outgrows the
// budgets of CONTRIBUTING.md.
package arch
