// SPDX-License-Identifier: Apache-2.0

// Package sharer measures the arbiter's policy on the simulated node of
// sharer/sim: how exactly shares are kept, how soon an owner has its GPU back, how
// much of what is idle is used, and what lending costs the owner. All times are
// virtual, so no figure here depends on the machine, and the same seeds give the
// same figures. Run it with
//
//	go test -run '^$' -bench . -benchtime 1x ./test/bench/sharer
//
// Each benchmark prints "BENCH name value unit", with the note "simulated, in
// virtual time". With BENCH_OUT set to a directory, a table of all cases is kept
// there in a file of the same name.
package sharer
