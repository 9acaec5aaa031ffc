// SPDX-License-Identifier: Apache-2.0

// Package chart tests charts/aipub as a user meets it: what Helm renders, what
// its values refuse, whether docs/security.md names every privilege, and what a
// real API server makes of it.
//
// Golden files are rewritten by
//
//	go test ./test/chart -run TestGolden -update
package chart
