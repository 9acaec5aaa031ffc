#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# vuln.sh GOVULNCHECK: known vulnerabilities in what the product calls. The
# database is on the network; where that is out of reach it says so and passes,
# since a machine without network cannot know better.
set -u
out=$("$1" ./cmd/... ./api/... 2>&1)
rc=$?
if [ $rc -ne 0 ] && grep -qiE 'fetching vulnerabilities|dial tcp|no such host|connection refused|proxyconnect|403|404' <<<"$out"; then
	echo "vuln: SKIPPED, the vulnerability database cannot be reached from here: $(head -1 <<<"$out")"
	exit 0
fi
printf '%s\n' "$out"
exit $rc
