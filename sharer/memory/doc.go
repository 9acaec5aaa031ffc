// SPDX-License-Identifier: Apache-2.0

// Package memory decides who may use device memory beyond its guarantee, and how
// it is given back: by a ladder whose steps are gentle first. It knows nothing of
// drivers or processes. A Ladder is given a Sample of one GPU, every 50 ms or so,
// and answers with a Plan: the limit of each slice, what its processes are asked
// to do, and what is to be done to them.
//
// What is guaranteed is never lent for good: a slice that is refused memory within
// its guarantee, or that is new, has its whole guarantee set aside, and whoever is
// beyond its own gives back until it fits. Nothing is ever asked of a slice that is
// within its guarantee.
package memory
