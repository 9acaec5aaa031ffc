#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Runs in the Dockerfile's build stage.
#
#   builder.sh prepare ARCH          modules, cross compiler, nvidia-cdi-hook
#   builder.sh build ARCH VERSION    the project's binaries
#
# ARCH is the target's architecture as Go names it. Results go to /out.
set -eu

toolkit=github.com/NVIDIA/nvidia-container-toolkit
step=$1
export GOARCH=$2
bin=/out/usr/bin
mkdir -p "$bin"

# The cgo parts (go-nvml) need a C compiler for the target. go-nvml looks the
# driver's functions up when they are called, hence the lazy binding.
host=$(go env GOHOSTARCH)
if [ "$GOARCH" != "$host" ]; then
	case $GOARCH in
	arm64) CC=aarch64-linux-gnu-gcc package="gcc-aarch64-linux-gnu libc6-dev-arm64-cross" ;;
	amd64) CC=x86_64-linux-gnu-gcc package="gcc-x86-64-linux-gnu libc6-dev-amd64-cross" ;;
	*)
		echo "architecture $GOARCH: no cross compiler is known; use amd64 or arm64" >&2
		exit 1
		;;
	esac
	export CC
	if ! command -v "$CC" >/dev/null; then
		echo "installing $package"
		apt-get update -qq
		# shellcheck disable=SC2086 # a list of words
		apt-get install -y -qq --no-install-recommends $package
	fi
fi
export CGO_CFLAGS="-O2 -Wno-deprecated-declarations"

# Names are resolved by Go, not by glibc: the same in every image, and packages
# compiled once serve the cgo and the pure Go binaries.
build() { # CGO OUTPUT PACKAGE LDFLAGS
	echo "building $(basename "$2") for linux/$GOARCH"
	CGO_ENABLED=$1 go build -trimpath -tags netgo,osusergo -ldflags "-s -w $4" -o "$2" "$3"
}

case $step in
prepare)
	[ "${GOPROXY:-}" = off ] || go mod download
	# The hook runs on the host, whose glibc may be old: linked statically. It is
	# built from the toolkit's own module, at the version of our go.mod, so that
	# its dependencies stay out of ours.
	version=$(go list -m -f '{{.Version}}' "$toolkit")
	cd "$(go list -m -f '{{.Dir}}' "$toolkit")"
	build 1 "$bin/nvidia-cdi-hook" ./cmd/nvidia-cdi-hook \
		"-X $toolkit/internal/info.version=${version#v} -linkmode external -extldflags '-static -Wl,--unresolved-symbols=ignore-in-object-files'"
	;;
build)
	version="-X main.version=$3"
	build 1 "$bin/aipub-node" ./cmd/aipub-node "$version -extldflags '-Wl,-z,lazy'"
	build 0 "$bin/aipub-controller" ./cmd/aipub-controller "$version"
	build 0 "$bin/kubectl-aipub" ./cmd/kubectl-aipub "$version"
	# What the agent puts on the host: the hook, and the library that containers
	# load, which depends on libc alone.
	lib=/out/usr/lib/aipub
	mkdir -p "$lib"
	build 0 "$lib/aipub-cdi-hook" ./cmd/aipub-cdi-hook "$version"
	echo "building libaipub for linux/$GOARCH"
	make -s -C sharer/shim CC="${CC:-cc}" OUT=/tmp/shim
	cp "$(cat /tmp/shim/path)" "$lib/"
	echo "building aipub-checkpoint for linux/$GOARCH"
	make -s -C sharer/checkpoint/tool CC="${CC:-cc}" CFLAGS="-O2 -s" OUT="$lib"
	;;
*)
	echo "step $step: use prepare or build" >&2
	exit 1
	;;
esac
