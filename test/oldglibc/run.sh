#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Runs the preloaded library inside the oldest Debian that the mirror of this machine
# still serves, with a program and a simulated driver that were built in there. What
# cannot be run is skipped, with the reason.
#
#   AIPUB_CACHE      default $XDG_CACHE_HOME/aipub; keeps the file system
#   DEBIAN_MIRROR    default: the one that apt uses
set -euo pipefail
repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
cache=${AIPUB_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/aipub}/old-glibc
suites="stretch buster bullseye bookworm" # oldest first
bases=1                                   # counts changes to how the file system is made

say() { printf 'old-glibc: %s\n' "$*" >&2; }
skip() { say "skipped: $*"; exit 0; }

[ "$(uname -s)" = Linux ] || skip "this is $(uname -s); a chroot of Debian needs Linux"
[ "$(id -u)" = 0 ] || skip "not root; a chroot and its mounts need it. Run it with sudo -E make old-glibc"
command -v debootstrap >/dev/null || skip "debootstrap is not installed; on Debian and Ubuntu: apt-get install debootstrap"

mirror() {
	[ -z "${DEBIAN_MIRROR:-}" ] || { echo "$DEBIAN_MIRROR"; return; }
	apt-get indextargets --format '$(SITE) $(RELEASE)' 'Created-By: Packages' 2>/dev/null |
		awk '$2 !~ /-/ {print $1; exit}'
}

# make_root: the oldest suite that can be had, made once.
make_root() {
	local from suite log=$cache/debootstrap.log
	from=$(mirror)
	[ -n "$from" ] || skip "apt names no mirror; give DEBIAN_MIRROR"
	mkdir -p "$cache"
	for suite in $suites; do
		rm -rf "$cache/new"
		if debootstrap --variant=minbase --include=gcc,libc6-dev,make "$suite" "$cache/new" "$from" >"$log" 2>&1; then
			rm -rf "$cache/root"
			mv "$cache/new" "$cache/root"
			echo "$bases $suite" >"$cache/made"
			return
		fi
		say "$from does not serve $suite: $(tail -n 1 "$log")"
	done
	skip "debootstrap did not work with $from; see $log"
}

root=$cache/root
grep -qs "^$bases " "$cache/made" || make_root
say "Debian $(cut -d' ' -f2 "$cache/made"), $(chroot "$root" ldd --version | head -n 1)"

# The simulated driver and a program, by that system's own compiler and libc.
mkdir -p "$root/src"
unshare --mount sh -c 'mount --bind "$1" "$0/src" && exec chroot "$0" make -s -C /src OUT=/build /build/libcuda.so.1 /build/tenant /build/gpusim' \
	"$root" "$repo/test/gpusim"
library=$repo/sharer/shim/$(cat "$repo/sharer/shim/build/path")
mkdir -p "$root/usr/lib/aipub"
rm -f "$root"/usr/lib/aipub/*
cp "$library" "$root/usr/lib/aipub/"
echo "/usr/lib/aipub/$(basename "$library")" >"$root/etc/ld.so.preload"

cd "$repo"
OLD_ROOT=$root LIBRARY=$library exec go test -tags oldglibc -count=1 -v ./test/oldglibc
