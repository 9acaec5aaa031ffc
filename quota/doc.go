// SPDX-License-Identifier: Apache-2.0

// Package quota decides who may hold how many sets. A [Book] has the quotas and
// what is charged to them; [Book.Check] says whether more fits, and if not, which
// level is in the way, who holds it and when the next is due back. Everything is a
// pure function of what was put into the book: the same code serves the loop that
// opens gates, admission, dry runs and the command line.
//
// # What is charged
//
// A pod whose gate is open and that has not ended, to every quota that binds it:
// its project's, its user's, and its user's within the project. All or none: a
// check that fails charges nothing. An Operation's guaranteed minimum is charged
// as long as the Operation exists, whether or not its pods do.
//
// # Above the limit
//
// A pod may stand above a limit in two ways only, and both are counted apart: as
// [Surge], while it replaces an older pod of its workload, at most
// spec.surgePods per quota; and as [Borrowed], for a Job, above a person's quota
// that says so, never above the project's.
package quota
