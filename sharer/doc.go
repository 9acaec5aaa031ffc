// SPDX-License-Identifier: Apache-2.0

// Package sharer divides the time of GPUs among the containers that hold block
// slices of them. An Arbiter is a state machine: it is told what happens and
// when, and answers with leases to give and to take. It reads no clock, does no
// input or output and holds no lock, so that the same code runs on a node
// (sharer/socket), in a virtual-time simulator and in a replay of a record.
//
// One tenant at a time has the lease of a GPU and may issue work to it. Who is
// idle is skipped: that is the loan. Whoever wants to work again while it is
// owed time has the lease recalled: that is the reclaim. Leases are paid for in
// GPU time from the tenant's guarantee, and what somebody ran over is a debt
// that it pays before it gets the next one.
package sharer
