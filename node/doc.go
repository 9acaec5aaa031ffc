// SPDX-License-Identifier: Apache-2.0

// Package node is the node's one truth: which slices exist, who holds each and
// how healthy it is. Transports, the health watcher and the partitioner feed
// it; the sharer, the container edits and NodePartition read it.
//
// A State is fed by
//
//   - SetLayout: which slices should exist. One that vanishes while it is held
//     is Retired until its holder ends.
//   - SetInstance, ClearInstance: the MIG hardware behind a slice. Until it
//     exists a free MIG slice is Preparing.
//   - SetHealth: how fit the hardware is.
//   - Claim: the kubelet gives slices away (it never says for whom).
//   - Observe: who holds what, as the kubelet and the API server say.
//   - Restore: what was held when the agent stopped.
//
// and read through Snapshot and Watch. All methods may be called at any time
// from any goroutine; none blocks on a reader.
//
// # When a held slice is freed
//
// The kubelet never tells a plugin that a container has ended. A slice is freed
// when an observation does not list it, and
//
//   - the observation was begun (Mark) after the slice was last claimed, and
//   - no newer observation has been applied, and
//   - its holder is known: the API server knows no such pod on the node, or all
//     that the pod asks for is listed; or the API server has not been heard and
//     the slice has been missing for Config.Grace;
//   - its holder is not known yet: no pod of the node still waits for slices of
//     this set to be listed, and Config.Settle has passed since the claim; or
//     the API server has not been heard and Config.Grace has passed.
//
// So an observation that lists a slice, or an API server that lists a pod which
// misses it, is enough to keep it.
//
// # What is free
//
// Slices of different sizes draw on the same counters. Of each set exactly as
// many slices are Free as could be taken of that set alone next to what is
// held, counted in the layout's order; the others are Blocked by the counter
// that is short. A held slice stays held whatever others do.
package node
