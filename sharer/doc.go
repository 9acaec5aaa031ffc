// SPDX-License-Identifier: Apache-2.0

// Package sharer divides the time of GPUs among the containers that hold block
// slices of them. An Arbiter is a state machine: it is told what happens and
// when, and answers with leases to give and to take. It reads no clock, does no
// input or output and holds no lock, so that the same code runs on a node
// (sharer/socket), in a virtual-time simulator (sharer/sim) and in a replay of a
// record (Replay).
//
// One tenant at a time has the lease of a GPU and may issue work to it. Who is
// idle is skipped: that is the loan. Whoever wants to work again while it is
// owed time has the lease recalled: that is the reclaim. Leases are paid for in
// GPU time from the tenant's guarantee, and what somebody ran over is a debt
// that it pays before it gets the next one.
//
// # Accounts
//
// Each tenant has an account on each of its GPUs (seat), which says how much GPU
// time it is owed or ahead of. While a GPU is used, those who compete for it are
// due its time by weight, and who uses it is charged, from the moment that the
// GPU is free for it until its last command is done; so a long kernel is charged
// as it ran, whatever the lease said. Idle tenants are due their guarantee in
// real time, up to a small bank. It lets them be served at once on waking, and
// takes no revenge for hours of idleness. Two more meters stand beside: one for
// what a tenant may have at most, one that tells own time from borrowed.
//
// # Turns
//
// Next is who woke and spends its bank, in the order of waking; then who is
// furthest behind its share. At the end of a turn the lease is extended if nobody
// who waits comes first.
//
// Turns are long where that harms nobody, because to change hands costs the GPU
// some time: those of tenants that always have work last a Quantum, or a part of a
// Round where they are many. Who wakes and is owed time does not wait for their
// end: the lease is recalled once its tenant has had what it is owed. And who
// spends what it saved has no more than that while others wait to do the same.
// What a change costs is borne by all, not by the one who comes next alone.
//
// To grant well before the work in flight is done would save that cost only on a
// GPU that finishes what it has begun. One that takes turns by itself goes to the
// new work, back, and to it again, so the grant is early by no more than the time
// that it takes to arrive, see Config.Handover.
//
// A tenant with several GPUs has all of them or none. While it is first in the
// queue its GPUs are kept for it as they become free, and may be used by others
// once, for as long as it waits for the rest.
//
// # When others do not do as they are told
//
// A lease that is not drained in time is taken by force: others get the GPU, and
// the tenant, which is charged up to then, gets nothing before it has drained. While no arbiter speaks at all,
// tenants keep to the slots of a Timetable.
package sharer
