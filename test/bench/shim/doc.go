// SPDX-License-Identifier: Apache-2.0

// Package shim measures the preloaded library with real processes: what it adds to
// a launch, an allocation and a start, what gets past its limits, what a killed
// process leaves, how soon a program without it is found, and how much of each
// CUDA version it knows. The other end is the arbiter and the socket that the agent
// runs; the driver is the simulated one, and for times the one that does nothing.
//
//	go test -run '^$' -bench . -benchtime 1x ./test/bench/shim
//
// prints "BENCH name value unit" for each figure. Times depend on the machine and on
// what else it does: the load is in machine.txt beside the raw data in BENCH_OUT.
package shim
