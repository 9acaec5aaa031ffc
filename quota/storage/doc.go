// SPDX-License-Identifier: Apache-2.0

// Package storage decides who may claim how much storage. A [Book] has the quotas,
// the claims that exist and the reservations of those that were admitted and are not
// seen yet; [Book.Check] says whether one more fits. Everything here is a pure
// function of what was put in.
//
// # How much
//
// A claim counts with the largest of what it requests, what it was given and what its
// resize has been promised, in whole bytes, rounded up: provisioners round up, and a
// resize that is cancelled may have happened. It counts from its admission until the
// object is gone, also while it is Lost or being deleted. A claim without a
// StorageClass counts to no class. Sums are exact at any size.
//
// # Why nothing is counted twice
//
// There is at most one claim of a name. So for each quota, what the existing claim of
// a name and all reservations for that name count is the largest of them, not their
// sum: a thousand attempts to create one claim reserve it once.
//
// # Why nothing is missed
//
// Webhooks run in several replicas, each of which sees claims come and go with a
// delay of its own. What they agree on is one [Record], written by compare-and-swap
// before a request is answered. A reservation leaves it
//
//   - once its claim was seen for a minute ([Confirm]), or at once while the record
//     is half full; the claim's version then goes into [Record.Seen], and a
//     replica that does not know the cluster up to there asks the API server;
//   - once its claim was seen to be gone;
//   - after two minutes ([Expire]) without its claim, when a fresh list of all claims
//     has not got it either. The API server gives a request one minute by default, so it
//     will not come any more.
//
// Durations are measured by who ends a reservation, from when it first saw it: no
// two clocks are compared.
package storage
