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
// # How much
//
// Sets are counted by name and, all together, in [Units], which hold every block
// and MIG share exactly. A limit by workload type counts in the whole as well. What
// has no limit is not limited; 0 allows none. Each claim needs room only where it
// adds something, so that a lowered limit on one set does not block another.
//
// Every workload counts, in each set and in units, the larger of its charged pods
// and its minimum. So the minimum's pods always find their room taken for them
// already, and what a replica adds beyond it is [Headroom].
//
// # Above the limit
//
// A pod may stand above a limit in two ways only, and both are counted apart: as
// [Surge], while it replaces an older pod of its workload that asks for no less, at
// most spec.surgePods per quota; and as [Borrowed], for a Job, above a person's quota
// that says so, never above the project's.
//
// How a pod was opened is a mark that it keeps. Who stands above now is counted
// anew from what is charged: while an account is above its limit, the youngest
// marked pods that hold of what is too much do, as many as it takes for the rest to
// fit. So a marked pod comes within as soon as there is room, the oldest first, and
// what comes within yields to nobody. What is above a limit without such pods is
// over quota: the limit was lowered. Nothing ends for that and nothing new fits. A
// roll-out there gets as many new pods as surge allows and then waits until less is
// held.
//
// # Who yields
//
// Replicas beyond an Operation's minimum first, whichever were opened last, then
// Jobs that borrow and have run for spec.borrowing.minRunSeconds. Nobody yields to
// headroom or to a borrower.
package quota
