#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Holds the library to what it promises about linking: glibc 2.17 is enough, only
# libc is needed, and only the driver's names and the two resolvers are exported.
set -eu
lib=$1
newest=$(objdump -T "$lib" | sed -n 's/.*UND.*GLIBC_\([0-9.]*\).*/\1/p' | sort -V | tail -n 1)
[ "$(printf '%s\n2.17\n' "$newest" | sort -V | tail -n 1)" = 2.17 ] || { echo "needs glibc $newest: 2.17 must be enough"; exit 1; }
needed=$(objdump -p "$lib" | awk '$1 == "NEEDED" {print $2}')
[ "$needed" = libc.so.6 ] || { echo "needs $needed: libc.so.6 alone is allowed"; exit 1; }
others=$(objdump -T "$lib" | awk '$0 !~ /UND/ && NF > 5 {print $NF}' | grep -Ev '^(cu[A-Z]|nvml[A-Z]|dlsym$|dlvsym$)' || true)
[ -z "$others" ] || { echo "exports $others"; exit 1; }
relocations=$(readelf -rW "$lib" | grep -cE 'R_[A-Z0-9_]*_RELATIVE')
[ "$relocations" -le 32 ] || { echo "has $relocations relative relocations, which every program pays for: at most 32"; exit 1; }
echo "ok symbols: glibc $newest"
