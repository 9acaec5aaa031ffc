// SPDX-License-Identifier: Apache-2.0

// Package objects reads what pods, workloads, autoscalers and nodes say into what
// [aipub.io/aipub/quota/gate] decides on. It is the one reading: the loop that opens
// gates keeps what it returns and adds what it has just decided itself, and the
// command line reads a whole cluster at once, so both decide on the same.
//
// [PodOf] and [WorkloadOf] read one object each; [Pod.Charged], [Pod.Pending] and
// [Floors] are what a snapshot has of them, [Snapshot] all of it together. Everything
// is pure and changes nothing in what it is given. What it returns may share memory
// with the objects.
package objects
