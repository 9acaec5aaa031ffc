#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds the cluster command and runs it in the caller's working folder.
set -e
here=$(cd "$(dirname "$(readlink -f "$0")")" && pwd)
bin=${AIPUB_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/aipub}/cluster/bin
mkdir -p "$bin"
GOWORK=off go build -C "$here" -o "$bin/cluster.$$" .
mv -f "$bin/cluster.$$" "$bin/cluster"
AIPUB_CLUSTER_SOURCE=$here exec "$bin/cluster" "$@"
