#!/bin/sh
# Starts the kubelet in the mount namespace that `unshare` made for it. Only
# the kubelet sees these mounts: they tell it another boot id and, unless the
# cluster shows the real machine, another number of CPUs and amount of memory.
set -e
mount --make-rprivate /proc
mount --make-rprivate /sys
mount --bind {{.Layout.BootID}} /proc/sys/kernel/random/boot_id
{{- range .Mounts}}
mount --bind {{$.Layout.Machine}}/{{.From}} {{.To}}
{{- end}}
exec "$@"
