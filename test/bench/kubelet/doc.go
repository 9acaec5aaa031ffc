// SPDX-License-Identifier: Apache-2.0

// Package kubelet measures the device plugins against a fake kubelet over real
// unix sockets: 16 GPUs with 7 slices each in 4 sets that overlap. Run it with
//
//	go test -run '^$' -bench . -benchtime 1x ./test/bench/kubelet
//
// Each benchmark prints "BENCH name value unit". With BENCH_OUT set to a
// directory, the samples are kept there in a file of the same name.
package kubelet
