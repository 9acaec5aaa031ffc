#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Builds the repository's Dockerfile with buildah and prints the path of an OCI
# archive (for `ctr -n k8s.io images import`). Progress goes to stderr.
#
# The base images come from Debian's own archive by debootstrap, so no image
# registry and no container engine is needed; Go and the modules are those of
# this machine. Nothing is built when nothing has changed.
#
#   PLATFORM=linux/amd64|linux/arm64   default: this machine's
#   IMAGE=aipub.io/aipub:dev           name inside the archive
#   VERSION=dev                        version that the binaries report
#   AIPUB_CACHE                        default $XDG_CACHE_HOME/aipub
#   DEBIAN_MIRROR                      default: the one that apt uses
set -euo pipefail

repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
cache=${AIPUB_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/aipub}/image
suite=bookworm
bases=3 # counts changes to the base images below

say() { printf 'image: %s\n' "$*" >&2; }
die() { say "$*"; exit 1; }

[ "$(uname -s)" = Linux ] || die "this is $(uname -s); building the image here needs Linux. With Docker: docker build -t aipub.io/aipub:dev ."
[ "$(id -u)" = 0 ] || die "not root: debootstrap and buildah's chroot isolation need it. Run it with sudo, or with Docker: docker build -t aipub.io/aipub:dev ."
command -v go >/dev/null || die "go not found; install Go $(sed -n 's/^go //p' "$repo/go.mod") or newer"

PLATFORM=${PLATFORM:-linux/$(go env GOHOSTARCH)}
IMAGE=${IMAGE:-aipub.io/aipub:dev}
VERSION=${VERSION:-dev}
arch=${PLATFORM#linux/}
case $arch in amd64 | arm64) ;; *) die "PLATFORM=$PLATFORM: use linux/amd64 or linux/arm64" ;; esac

# need COMMAND PACKAGE: installs the package when the command is missing.
need() {
	command -v "$1" >/dev/null && return
	command -v apt-get >/dev/null || die "$1 not found; install it (Debian's package $2)"
	say "$1 not found; installing Debian's package $2"
	{ apt-get update -qq && apt-get install -y -qq --no-install-recommends "$2"; } >&2 ||
		die "installing $2 did not work; install $1 by hand"
}

store() { buildah --root "$cache/storage" --runroot "$cache/run" --storage-driver vfs "$@"; }

# inputs lists what the image is made of (see .dockerignore).
inputs() {
	cd "$repo"
	find . \( -path ./.git -o -path ./.ci -o -path ./bin -o -path ./dist -o -path ./out -o -path ./docs \
		-o -path ./charts -o -path ./examples -o -path ./test -o -name testdata \) -prune \
		-o -type f ! -name '*_test.go' ! -name '*.md' -print0
	printf '%s\0' test/image/build.sh test/image/builder.sh
}

key() {
	{
		echo "$PLATFORM $IMAGE $VERSION"
		go version
		inputs | LC_ALL=C sort -z | xargs -0 sha256sum
	} | sha256sum | cut -c1-32
}

mirror() {
	[ -z "${DEBIAN_MIRROR:-}" ] || { echo "$DEBIAN_MIRROR"; return; }
	apt-get indextargets --format '$(SITE) $(RELEASE)' 'Created-By: Packages' 2>/dev/null |
		sed -n "s/ $suite\$//p" | head -n 1
}

base_name() { echo "localhost/aipub-$1-$2:$bases"; }

# base NAME ARCH PACKAGES: an image with a small Debian, made once.
base() {
	local name container root old start=$SECONDS
	local include=${3:+--include=$3} foreign=
	name=$(base_name "$1" "$2")
	if store inspect --type image "$name" >/dev/null 2>&1; then return; fi
	# For another architecture the packages are only unpacked, never configured:
	# that would need an emulator, and glibc works without.
	[ "$2" = "$(dpkg --print-architecture)" ] || foreign=--foreign
	for old in $(store images --quiet --filter "reference=localhost/aipub-$1-$2"); do store rmi --force "$old" >/dev/null; done
	say "making base image $1 for $2 from Debian $suite (once; a minute or two)"
	container=$(store from --arch "$2" scratch)
	root=$(store mount "$container")
	# shellcheck disable=SC2046,SC2086 # optional words
	debootstrap --variant=minbase --arch="$2" $include $foreign "$suite" "$root" $(mirror) \
		>"$cache/debootstrap-$1-$2.log" 2>&1 ||
		{ tail -n 20 "$cache/debootstrap-$1-$2.log" >&2; die "debootstrap $suite for $2: see $cache/debootstrap-$1-$2.log"; }
	# Nothing of this machine (debootstrap copies some), nothing that only people read.
	rm -rf "$root"/etc/{hostname,resolv.conf,apt/sources.list} "$root"/var/cache/apt/* "$root"/var/lib/apt/lists/* "$root"/var/log/* "$root"/debootstrap \
		"$root"/usr/share/{doc,man,info,locale,lintian}/*
	store config --arch "$2" --os linux --cmd '' "$container"
	[ "$2" != arm64 ] || store config --variant v8 "$container" # buildah looks for it
	store commit --rm --quiet "$container" "$name" >/dev/null
	say "base image $1 ready after $((SECONDS - start)) s"
}

# modules fills the module cache, so that the build itself needs no network.
modules() {
	say "fetching Go modules"
	(cd "$repo" && GOARCH=$arch CGO_ENABLED=1 go list -deps ./cmd/... >/dev/null)
	(cd "$repo" && cd "$(go list -m -f '{{.Dir}}' github.com/NVIDIA/nvidia-container-toolkit)" &&
		GOARCH=$arch CGO_ENABLED=1 go list -deps ./cmd/nvidia-cdi-hook >/dev/null)
}

build() {
	local cross=gcc-aarch64-linux-gnu,libc6-dev-arm64-cross host second
	store rm --all >/dev/null # of a build that was interrupted
	host=$(dpkg --print-architecture)
	[ "$host" = amd64 ] || cross=gcc-x86-64-linux-gnu,libc6-dev-amd64-cross
	# Side by side: mostly waiting for downloads and disk.
	base runtime "$arch" "" &
	second=$!
	base builder "$host" "gcc,libc6-dev,make,$cross"
	modules
	wait "$second"
	say "building $IMAGE for $PLATFORM"
	mkdir -p "$cache/gocache"
	store bud --isolation chroot --layers=false --pull-never --platform "$PLATFORM" \
		--build-arg BUILDPLATFORM="linux/$host" --build-arg BUILDER_IMAGE="$(base_name builder "$host")" --build-arg RUNTIME_IMAGE="$(base_name runtime "$arch")" \
		--build-arg VERSION="$VERSION" --build-arg GOPROXY=off --build-arg GOFLAGS=-buildvcs=false \
		--build-arg REVISION="$(git -C "$repo" rev-parse HEAD 2>/dev/null || echo unknown)" \
		--volume "$(go env GOROOT):/usr/local/go:ro" \
		--volume "$(go env GOMODCACHE):/go/pkg/mod" \
		--volume "$cache/gocache:/go/cache" \
		--file "$repo/Dockerfile" --tag "$IMAGE" "$repo" >&2
	say "writing $archive"
	rm -f "$archive" "$archive.new"
	store push --quiet "$IMAGE" "oci-archive:$archive.new:$IMAGE" >&2
	mv "$archive.new" "$archive"
	store rm --all >/dev/null
	store rmi "$IMAGE" >/dev/null
	store rmi --prune --force >/dev/null # what interrupted builds left
}

mkdir -p "$cache"
archive=$cache/aipub-$arch.tar
want=$(key)
current() { [ -f "$archive" ] && [ "$(cat "$archive.key" 2>/dev/null)" = "$want" ]; }
start=$SECONDS
if ! current; then
	exec 9>"$cache/lock" # both architectures share base images and storage
	flock -n 9 || { say "another build is running here; waiting for it to end"; flock 9; }
fi
if current; then
	say "$IMAGE for $PLATFORM is up to date"
else
	rm -f "$archive.key"
	need debootstrap debootstrap
	need buildah buildah
	build
	echo "$want" >"$archive.key"
	say "$IMAGE for $PLATFORM ready after $((SECONDS - start)) s, $(du -h "$archive" | cut -f1)"
fi
echo "$archive"
