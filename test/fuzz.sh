#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# fuzz.sh TIME: runs every fuzz target of the module for TIME, one after the other.
set -eu
found=0
while IFS=: read -r file line; do
	target=$(sed -E 's/^func (Fuzz[A-Za-z0-9_]*).*/\1/' <<<"$line")
	echo "fuzz $target in $(dirname "$file") for $1"
	go test "./$(dirname "$file")" -run '^$' -fuzz "^$target\$" -fuzztime "$1"
	found=$((found + 1))
done < <(grep -rE '^func Fuzz' --include='*_test.go' . | sed 's|^\./||')
[ "$found" -gt 0 ] || { echo "no fuzz target found"; exit 1; }
echo "$found fuzz targets passed"
