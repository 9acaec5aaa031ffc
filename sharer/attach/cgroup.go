// SPDX-License-Identifier: Apache-2.0

package attach

import (
	"strings"
)

// containerOf finds the container in the text of /proc/PID/cgroup. The paths
// depend on the cgroup version, the kubelet's cgroup driver and the runtime:
//
//	0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-podUID.slice/cri-containerd-ID.scope
//	4:memory:/kubepods/burstable/podUID/ID
//	0::/../../kubepods-besteffort-podUID.slice/crio-ID.scope/container
//
// with the UID's dashes as underscores under systemd. What all have in common is
// a part that ends in podUID, and after it one that ends in the container's ID
// of 64 hex digits. A process below the container's own cgroup belongs to it.
func containerOf(cgroup string) Container {
	for line := range strings.Lines(cgroup) {
		// hierarchy:controllers:path; cgroups(7). A path may have colons.
		fields := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(fields) < 3 {
			continue
		}
		var c Container
		for part := range strings.SplitSeq(fields[2], "/") {
			if uid := podUID(part); uid != "" {
				c = Container{PodUID: uid}
			} else if id := containerID(part); id != "" && c.PodUID != "" {
				c.ID = id
			}
		}
		if c.ID != "" {
			return c
		}
	}
	return Container{}
}

// podUID gives the UID in a part that ends in podUID. A static pod's UID is a
// hash of 32 digits without dashes.
func podUID(part string) string {
	part = strings.TrimSuffix(part, ".slice")
	i := strings.LastIndex(part, "pod")
	if i < 0 || i > 0 && part[i-1] != '-' {
		return ""
	}
	uid := strings.ReplaceAll(part[i+len("pod"):], "_", "-")
	if digits := strings.ReplaceAll(uid, "-", ""); len(digits) != 32 || !isHex(digits) {
		return ""
	}
	return uid
}

func containerID(part string) string {
	part = strings.TrimSuffix(part, ".scope")
	part = part[strings.LastIndexByte(part, '-')+1:]
	if len(part) != 64 || !isHex(part) {
		return ""
	}
	return part
}

func isHex(s string) bool { return strings.Trim(s, "0123456789abcdef") == "" }
