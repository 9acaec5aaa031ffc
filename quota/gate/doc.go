// SPDX-License-Identifier: Apache-2.0

// Package gate decides which pods may start now. It joins the three questions in
// their order: does the quota have room ([quota.Book]), whose turn is it
// ([queue.Turns]), and which node can hold it ([placement.Room]). [Decide] is a pure
// function of a [Snapshot]: the leader's loop, dry runs and the command line use
// the same one.
//
// # The order of a decision
//
// First what is guaranteed: pods of an Operation within its minimum, whose quota is
// reserved, and replacements in a rolling update (grade [quota.Surge]), whose place
// above the limit is not for anybody else. They stand behind nobody. Then everybody
// else, workload by workload, as the queues say.
//
// # Who holds up whom
//
// A workload that waits for its own user's limit, for the rest of its gang, or for a
// set that no node has steps aside: waiting for its turn would help nobody. One that
// waits for the project's limit or for room on nodes holds up the rest of its
// project under FirstAllocating, and nobody under FirstScheduling. Room is kept for
// it, at once under FirstAllocating, after the queue's patience under
// FirstScheduling, so that small ones do not starve a large one; then quota is kept for
// the first of the project too. Room is kept for the first [MaxKept] only; whoever is
// behind them would not be next anyway.
//
// # What is lent
//
// Headroom and what would be borrowed come after all that stands within the quotas,
// and get what is left once room, and quota that others go for, was kept for those.
// So what has to go is not back, at its workload's old place, before the one that it
// went for.
//
// # Taking back
//
// Where the quota is short for a pod that would stand within it, or where it has quota
// and no node has room, pods that stand there as headroom or borrowed are asked to go
// ([Plan.Yield]), the fewest that make room. What is going already counts as gone for
// this purpose, so that one shortage is answered once. Pods for which others go on
// nodes are noted ([Plan.Freed]) and come before everybody until they start.
package gate
