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
{{- if .Mounts}}
# The kubelet gives the pods' cgroup every CPU there is, and the kernel refuses
# those that there are not. So the group is made here with the real ones, which
# the groups below it take over (clone_children), and what the kubelet writes
# goes into a plain file.
cpuset=/sys/fs/cgroup/cpuset
if [ -d $cpuset ]; then
	mkdir -p $cpuset/{{.PodsGroup}}
	for file in cpuset.cpus cpuset.mems; do
		cat $cpuset/$file > $cpuset/{{.PodsGroup}}/$file
	done
	echo 1 > $cpuset/{{.PodsGroup}}/cgroup.clone_children
	cat $cpuset/cpuset.cpus > {{.Layout.Machine}}/cpuset.cpus
	mount --bind {{.Layout.Machine}}/cpuset.cpus $cpuset/{{.PodsGroup}}/cpuset.cpus
fi
{{- end}}
exec "$@"
