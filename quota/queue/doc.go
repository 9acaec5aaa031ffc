// SPDX-License-Identifier: Apache-2.0

// Package queue decides whose turn it is. Waiting workloads of a project stand in
// the order of their keys; among projects the promoted go first, then priority
// decides, then who has used least of its quota. An administrator changes the
// order by one key on one workload, so two who change it at once do not undo each
// other's work, and no list of the order has to be stored.
//
// # Keys
//
// A key is a string over the characters of [Alphabet] that does not end in the
// lowest of them; keys sort as bytes. A workload that was never moved has the
// default key: the seconds of its creation, then its UID. [Between] makes a key
// that sorts strictly between two others.
//
// # How long keys get
//
// A key made between two others is two characters longer than the longer of them,
// and at least 684 further ones fit beside it on the same side at no further
// length; then four more characters make room for 937,000. So 10,000 moves to the
// same place cost six characters at most, and two between keys that are not
// neighbours to begin with. An alternation of sides that is made for it, each key
// between the two that came last, costs one character a move; at [MaxKey]
// characters [Between] says that there is no room.
package queue
