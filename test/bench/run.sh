#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# run.sh [FIGURE…]: measures and prints "BENCH name value unit", one line a figure.
# A FIGURE is a name or a pattern, such as node.plan_us or 'node.*'; none means all.
# Raw data and the machine's description go to test/bench/out.
set -euo pipefail
cd "$(dirname "$0")/../.."

out=$PWD/test/bench/out
rm -rf "$out"
mkdir -p "$out"
export BENCH_OUT=$out
{
	date -u +%FT%TZ
	uname -a
	go version
	git describe --tags --always --dirty 2>/dev/null || true
	grep -m1 'model name' /proc/cpuinfo || true
	echo "cpus: $(nproc)"
	grep MemTotal /proc/meminfo
	uptime
} >"$out/machine.txt" 2>/dev/null

# wanted NAME: whether one of the given patterns matches it.
patterns=("$@")
wanted() {
	[ ${#patterns[@]} -gt 0 ] || return 0
	local p
	for p in "${patterns[@]}"; do
		# shellcheck disable=SC2053
		[[ $1 == $p ]] && return 0
	done
	return 1
}

# show: of a benchmark's output, the figures that are wanted; all of it is kept.
show() {
	local line name
	while IFS= read -r line; do
		echo "$line" >>"$out/$1.log"
		[[ $line == *"BENCH "* ]] || continue
		line="BENCH ${line#*BENCH }"
		name=$(cut -d' ' -f2 <<<"$line")
		if wanted "$name"; then echo "$line"; fi
	done
}

bench() { # LOG PACKAGE [FLAG…]
	local log=$1 package=$2
	shift 2
	if ! go test -run '^$' -bench . -benchtime 1x -timeout 20m "$@" "$package" 2>&1 | show "$log"; then
		echo "bench: $package did not finish; the end of $out/$log.log:" >&2
		tail -20 "$out/$log.log" >&2
		exit 1
	fi
}

any() { # NAME…: whether any of these figures is wanted
	local n
	for n in "$@"; do wanted "$n" && return 0; done
	return 1
}

if any node.plan_us node.layout_failures node.stranded_percent; then bench partition ./test/bench/partition; fi
if any node.allocate_p99_ms node.list_update_p99_ms node.reregister_fake_s; then bench kubelet ./test/bench/kubelet; fi
if any sharer.share_error_1s sharer.share_error_10s sharer.reclaim_p50_ms sharer.reclaim_p99_ms sharer.harvest_percent sharer.owner_slowdown_percent; then
	bench sharer ./test/bench/sharer
fi
shim=("Overhead sharer.launch_overhead_ns sharer.alloc_overhead_us" "InitStorm sharer.init_storm_added_p99_ms sharer.init_storm_added_last_ms"
	"ContextStorm sharer.context_storm_added_p99_ms sharer.context_storm_added_last_ms" "PreloadExec sharer.preload_exec_us"
	"MemoryOverrun sharer.memory_overrun_bytes" "KillRecovery sharer.kill_recovery_s" "UnattachedFound sharer.unattached_found_s"
	"ABICoverage sharer.abi_coverage_percent")
for s in "${shim[@]}"; do
	read -r name figures <<<"$s"
	# shellcheck disable=SC2086
	if any $figures; then bench "shim$name" ./test/bench/shim -bench "$name\$"; fi
done
real=(sharer.real_share_error_1s sharer.real_share_error_10s sharer.real_share_of_target sharer.real_reclaim_p50_ms sharer.real_reclaim_p99_ms
	sharer.real_harvest_percent sharer.real_memory_overrun_bytes)
if any "${real[@]}"; then
	chosen=()
	for n in "${real[@]}"; do if wanted "$n"; then chosen+=("$n"); fi; done
	make -s shim
	test/bench/gpucheck/run.sh --simulate "${chosen[@]}" 2>"$out/gpucheck.err" | show gpucheck ||
		{ tail -20 "$out/gpucheck.err" >&2; exit 1; }
fi
# The figures of the cluster need a kube-apiserver, which is built once, in some minutes.
cluster=("Order queue.move_ms queue.list_ms" "Release quota.release_per_s queue.cli_move_ms queue.cli_list_ms" "Ready cluster.ready_s"
	"Admission quota.webhook_p99_ms quota.webhook_added_p50_ms quota.webhook_added_p99_ms" "Adversity quota.oversubscribed quota.leaked_slots")
for c in "${cluster[@]}"; do
	read -r name figures <<<"$c"
	# shellcheck disable=SC2086
	if any $figures; then
		make -s envtest-assets
		KUBEBUILDER_ASSETS=$(test/cluster/cluster.sh assets)
		export KUBEBUILDER_ASSETS
		bench "quota$name" ./test/bench/quota -bench "$name\$" -timeout 60m
	fi
done
if any reclaim.late_s reclaim.storm_s; then
	make -s envtest-assets
	KUBEBUILDER_ASSETS=$(test/cluster/cluster.sh assets)
	export KUBEBUILDER_ASSETS
	go test -count=1 -timeout 30m -v -run 'TestALimit|TestManyThatAreDue' ./reclaim/kube -args -at-once "${RECLAIM_AT_ONCE:-500}" 2>&1 | show reclaim ||
		{ tail -20 "$out/reclaim.log" >&2; exit 1; }
fi
if any node.reregister_s node.rejected_pods node.pods_per_s; then
	if [ "$(id -u)" = 0 ]; then
		test/e2e/up.sh
		eval "$(test/cluster/cluster.sh env)"
		bench e2e ./test/e2e -tags e2e -count=1
	else
		echo "bench: node.reregister_s needs root, because it restarts a real kubelet; not measured" >&2
	fi
fi
