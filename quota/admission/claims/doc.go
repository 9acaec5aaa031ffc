// SPDX-License-Identifier: Apache-2.0

// Package claims keeps room for volume claims while they are admitted: requests that
// come together share one write to the record that all replicas share, and each is
// answered after it is written. Whether a claim fits is decided by quota/storage;
// what the record is made of is the caller's.
package claims
