#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# up.sh: the product on a real node, ready to use: this machine's test cluster, three
# simulated H200, the image built by a real builder, the chart. Whatever of it is
# there already is kept or brought up to date.
set -euo pipefail
cd "$(dirname "$0")/../.."

cluster=test/cluster/cluster.sh
start=$SECONDS
say() { printf '[%3ds] %s\n' $((SECONDS - start)) "$*" >&2; }

say "cluster: a real kube-apiserver, scheduler, kubelet and containerd on this machine"
$cluster up >/dev/null
eval "$($cluster env)"

# GPUSIM_DIR is the simulated hardware, driver the installation that its driver has
# on the host.
export GPUSIM_DIR=${GPUSIM_DIR:-/run/gpusim}
driver=$GPUSIM_DIR/root
machine=${GPUSIM_MACHINE:-test/gpusim/machines/three-h200.conf}
work=$(dirname "$(dirname "$KUBECONFIG")")

if ! command -v promtool >/dev/null; then
	say "installing Debian package prometheus, which scrapes the agent in the tests"
	apt-get install -y -qq --no-install-recommends prometheus >/dev/null 2>&1 ||
		{ apt-get update -qq && apt-get install -y -qq --no-install-recommends prometheus >/dev/null; }
fi

say "simulated driver: $machine"
make -s gpusim >&2
gpusim=$PWD/test/gpusim/build/gpusim
# Hosts with systemd share their mounts with containers; here only this folder does.
# And /dev is a file system of its own, on a host and here.
mkdir -p "$driver/dev"
if ! mountpoint -q "$GPUSIM_DIR"; then
	mount --bind "$GPUSIM_DIR" "$GPUSIM_DIR"
	mount --make-rshared "$GPUSIM_DIR"
fi
if ! mountpoint -q "$driver/dev"; then
	mount -t tmpfs -o mode=755 tmpfs "$driver/dev"
	rm -f "$GPUSIM_DIR/made-from"
fi
if ! "$gpusim" state >/dev/null 2>&1 || ! cmp -s "$machine" "$GPUSIM_DIR/made-from"; then
	"$gpusim" init "$machine" >&2
	"$gpusim" install-root "$driver" >&2
	cp "$machine" "$GPUSIM_DIR/made-from"
fi
# The NUMA nodes that the kubelet is shown, for the agent as well.
if [ -d "$work/machine/node" ]; then
	mkdir -p "$driver/sys/devices/system"
	cp -rT "$work/machine/node" "$driver/sys/devices/system/node"
fi
# A reboot takes what the hardware forgets.
mkdir -p "$work/reboot.d"
printf '#!/bin/sh\nGPUSIM_DIR=%s exec %s reboot\n' "$GPUSIM_DIR" "$gpusim" >"$work/reboot.d/gpusim"
chmod +x "$work/reboot.d/gpusim"

say "image: Dockerfile, built by buildah (first time: some minutes)"
VERSION=$(git describe --tags --always --dirty 2>/dev/null || echo dev)
export VERSION
if ! archive=$(test/image/build.sh 2> >(tee "$work/logs/image.log" | grep --line-buffered -E '^image: ' >&2)); then
	say "the image was not built; the end of $work/logs/image.log:"
	tail -30 "$work/logs/image.log" >&2
	exit 1
fi
digest=$(sha256sum "$archive" | cut -c1-16)
if [ "$(cat "$work/image-loaded" 2>/dev/null)" != "$digest" ]; then
	say "image: loading into containerd"
	$cluster load "$archive" >&2
	echo "$digest" >"$work/image-loaded"
fi

say "images: programs that use the GPU"
test/e2e/images/load.sh

say "chart: helm upgrade --install aipub"
helm upgrade --install aipub charts/aipub --namespace aipub-system --create-namespace \
	--values test/e2e/values.yaml \
	--set "node.stateDir=$work/aipub" --set "node.save.containerdDir=$(dirname "$CONTAINERD_ADDRESS")" --set "node.driverRoot=$driver" --set "node.hostSys=/driver-root/sys" --set "node.hostProc=/driver-root/proc" \
	--set "node.env[0].name=GPUSIM_DIR,node.env[0].value=$GPUSIM_DIR" \
	--set "node.extraVolumes[0].name=gpusim,node.extraVolumes[0].hostPath.path=$GPUSIM_DIR" \
	--set "node.extraVolumeMounts[0].name=gpusim,node.extraVolumeMounts[0].mountPath=$GPUSIM_DIR" \
	--set-string "node.podAnnotations.image=$digest,controller.podAnnotations.image=$digest" \
	--wait --timeout 3m >"$work/logs/helm.log" 2>&1 || {
	cat "$work/logs/helm.log" >&2
	say "the chart did not become ready:"
	kubectl -n aipub-system get pods -o wide >&2
	kubectl -n aipub-system get events --sort-by=.lastTimestamp | tail -20 >&2
	exit 1
}

say "kubectl plugin: bin/kubectl-aipub"
go build -ldflags "-s -w -X main.version=$VERSION" -o bin/kubectl-aipub ./cmd/kubectl-aipub
say "ready: export KUBECONFIG=$KUBECONFIG"
