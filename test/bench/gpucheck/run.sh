#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# run.sh [--simulate] [GPUCHECK OPTIONS…] [FIGURE…]: runs gpucheck on this machine's
# GPU, or with --simulate on a simulated H200 of its own.
set -euo pipefail
cd "$(dirname "$0")/../../.."

make -s -C test/gpusim >&2
make -s -C sharer/shim >&2
build=$PWD/test/gpusim/build
arguments=(--library "$PWD/sharer/shim/$(cat sharer/shim/build/path)" --tenant "$build/tenant")
if [ "${1:-}" = --simulate ]; then
	shift
	GPUSIM_DIR=$(mktemp -d)
	export GPUSIM_DIR
	trap 'rm -rf "$GPUSIM_DIR"' EXIT
	"$build/gpusim" init test/gpusim/machines/three-h200.conf >&2
	export LD_LIBRARY_PATH=$build${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
	arguments+=(--nvml-library "$build/libnvidia-ml.so.1")
elif ! ldconfig -p | grep -q libcuda.so.1; then
	echo "gpucheck: this machine has no NVIDIA driver (libcuda.so.1); run $0 --simulate to try it on a simulated GPU" >&2
	exit 1
fi
go run ./test/bench/gpucheck "${arguments[@]}" "$@"
