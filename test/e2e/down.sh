#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# down.sh: stops the test cluster and takes away what up.sh put beside it.
set -euo pipefail
cd "$(dirname "$0")/../.."
test/cluster/cluster.sh down
dir=${GPUSIM_DIR:-/run/gpusim}
for mount in "$dir/root/dev" "$dir"; do
	if mountpoint -q "$mount"; then umount "$mount"; fi
done
rm -rf "$dir"
