// SPDX-License-Identifier: Apache-2.0

// Command aipub-controller serves the admission webhooks and keeps ResourceSets
// and the status of policies. Every replica serves webhooks; one, the leader,
// writes.
//
// The order of the wiring is the order of the flow: a request meets admission;
// policies and nodes become sets.
package main
