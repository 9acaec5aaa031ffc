#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# install.sh <VALUES: Kueue in the test cluster, as its maintainers ship it: their chart
# with their webhooks, and their manager, both from the Go module that go.mod pins.
# Only what the values say differs. Installs or upgrades, and prints Kueue's version.
set -euo pipefail
cd "$(dirname "$0")/../.."

export GOWORK=off GOFLAGS=
module=sigs.k8s.io/kueue
version=$(go list -C test/kueue -m -f '{{.Version}}' $module)
key=$(cat test/kueue/go.mod test/kueue/go.sum <(go env GOVERSION) | sha256sum | cut -c1-12)
built=${AIPUB_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/aipub}/kueue/$version-$key
work=$(dirname "$(dirname "$KUBECONFIG")")

if [ ! -x "$built/root/manager" ]; then
	echo "building Kueue $version into $built: 5 to 10 minutes, once" >&2
	part=$built.part.$$
	trap 'rm -rf "$part"' EXIT
	mkdir -p "$part/root"
	CGO_ENABLED=0 go build -C test/kueue -ldflags "-s -w -X $module/pkg/version.GitVersion=$version" -o "$part/root/manager" $module/cmd/kueue
	rm -rf "$built"
	mv "$part" "$built"
fi
if [ "$(cat "$work/kueue-loaded" 2>/dev/null)" != "$key" ]; then
	test/cluster/cluster.sh load --name "aipub.test/kueue:$version" --root "$built/root" >&2
	echo "$key" >"$work/kueue-loaded"
fi
helm upgrade --install kueue "$(go list -C test/kueue -m -f '{{.Dir}}' $module)/charts/kueue" \
	--namespace kueue-system --create-namespace --values - \
	--set "controllerManager.manager.image.repository=aipub.test/kueue,controllerManager.manager.image.tag=$version" \
	--wait --timeout 2m >"$work/logs/kueue-helm.log" 2>&1 || {
	cat "$work/logs/kueue-helm.log" >&2
	kubectl -n kueue-system get pods -o wide >&2
	kubectl -n kueue-system logs deployment/kueue-controller-manager --tail=20 >&2
	exit 1
}
echo "$version"
