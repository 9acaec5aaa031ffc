// SPDX-License-Identifier: Apache-2.0

// Package kube opens the gates of managed pods, as package gate decides. One leader
// does it; every replica knows what is charged, so that admission can refuse early
// and a new leader is ready at once.
//
// # What is charged, and how it is known
//
// The pods are the ledger: a gate that is open and a pod that has not ended. A cache
// shows them late, and it can only err on one side: an end that it shows is true for
// good, since no pod comes back, and an opening that it does not show yet was this
// leader's own, which remembers it. So nothing is free before it was seen to be.
//
// # One leader at a time, proven
//
// Leader election alone is not enough: the old leader may not know yet, and a
// request of its may still be on its way. So:
//
//  1. Before it opens gates, a leader writes down which (its intent) into one
//     ConfigMap, by compare-and-swap. Nothing is sent without that write.
//  2. A new leader takes the ConfigMap over, with the next epoch. From then on the
//     old one's write fails, and with it all it would have sent after.
//  3. The new leader then touches every pod of the last intent: a change of its
//     status, which gives the pod a new resourceVersion. Every opening carries the
//     resourceVersion that it was decided on as a precondition; so what the old
//     leader sent has either happened and is seen in the answer, or never will.
//     For the same reason an opening that met a conflict is sent again only on a new
//     intent, written after the pod was read anew.
//  4. Then it lists all managed pods, from the API server and not from a cache.
//
// The leader settles its own requests of unknown outcome in the same way. Until a
// touch has succeeded, the pod counts as open. No clock is compared anywhere.
//
// # Where a pod goes
//
// With its gate, a pod gets the node that was decided: as required node affinity
// where a controller makes it again should the node be lost (then it is evicted,
// reason NodeLost, and its successor stands where it stood), as preferred affinity
// where it is on its own, so that nothing can strand it.
//
// # A set that changes while pods wait
//
// A pod was given the CPU and memory of its sets when it was made. Where they are of
// another size when its turn comes, the leader gives it that size first, through the
// resize subresource, and then writes its intent (reason SetChanged). A pod that the
// API server does not let have it stays closed; where a controller makes it again, it
// is evicted, since its successor gets the right size.
//
// # Namespaces that are not managed any more
//
// Their gates are opened as they are found, without a charge. [OpenAll] does so for
// a whole cluster, before AIPub leaves it.
package kube
