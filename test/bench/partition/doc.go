// SPDX-License-Identifier: Apache-2.0

// Package partition measures the planner: how long a node of 16 GPUs takes, over
// all MIG layouts; how many of them cannot be placed in some order of arrival;
// and how much GPU is stranded for lack of CPU or memory. Run it with
//
//	go test -run '^$' -bench . -benchtime 1x ./test/bench/partition
//
// Each benchmark prints "BENCH name value unit". With BENCH_OUT set to a
// directory, the raw data is kept there in a file of the same name. All hardware
// here is simulated.
package partition
