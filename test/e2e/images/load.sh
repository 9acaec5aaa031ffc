#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# load.sh: makes the images of programs that use the simulated GPU, and loads them
# into the test cluster. Nothing is done when nothing has changed.
#
#   aipub.test/tenant:1          glibc, and tenant (test/gpusim)
#   aipub.test/tenant-preload:1  the same, with an /etc/ld.so.preload of its own
#   aipub.test/loose:1           a static program, which no preloaded library reaches
#   aipub.test/musl:1            tenant built for musl
set -euo pipefail
cd "$(dirname "$0")/../../.."

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cluster=test/cluster/cluster.sh
state=$(dirname "$(dirname "$KUBECONFIG")")/images-loaded
tenant=test/gpusim/build/tenant

key=$(cat "$0" test/e2e/images/*.c "$tenant" /bin/busybox | sha256sum | cut -c1-16)
[ "$(cat "$state" 2>/dev/null)" != "$key" ] || exit 0

command -v musl-gcc >/dev/null || { apt-get install -y -qq --no-install-recommends musl-tools >/dev/null 2>&1 ||
	{ apt-get update -qq && apt-get install -y -qq --no-install-recommends musl-tools >/dev/null; }; }

root() { # NAME: a root file system with a shell
	mkdir -p "$work/$1"/{bin,etc,tmp,usr/bin,usr/lib,run}
	cp /bin/busybox "$work/$1/bin/"
	for a in sh sleep cat ls env grep kill mkdir echo touch; do ln -s busybox "$work/$1/bin/$a"; done
}

with_glibc() { # NAME PROGRAM: what a dynamically linked program needs, at the same paths
	local file
	cp "$2" "$work/$1/usr/bin/"
	# libdl and the others are stubs since glibc 2.34, and named by older programs.
	for file in $(ldd "$2" | grep -o '/[^ ]*'); do
		mkdir -p "$work/$1$(dirname "$file")"
		cp -L "$file" "$work/$1$file"
	done
}

for name in tenant tenant-preload; do
	root $name
	with_glibc $name $tenant
done
gcc -O1 -shared -fPIC -o "$work/tenant-preload/usr/lib/libmark.so" test/e2e/images/mark.c
echo /usr/lib/libmark.so >"$work/tenant-preload/etc/ld.so.preload"
root loose
gcc -O1 -static -o "$work/loose/usr/bin/loose" test/e2e/images/loose.c
root musl
echo 'int main(void) { return 0; }' >"$work/empty.c"
musl-gcc -o "$work/musl/usr/bin/tenant" "$work/empty.c"
mkdir -p "$work/musl/lib"
cp -L /lib/ld-musl-*.so.1 "$work/musl/lib/"

for name in tenant tenant-preload loose musl; do
	$cluster load --name "aipub.test/$name:1" --root "$work/$name" >&2
done
echo "$key" >"$state"
