// SPDX-License-Identifier: Apache-2.0

// Package debian brings the programs that the cluster takes from the distribution.
package debian

import (
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
)

// Files and programs the cluster needs, and the packages that have them.
const (
	Etcd    = "/usr/bin/etcd"
	Runc    = "/usr/sbin/runc" // with libseccomp: the runtime's default profile needs it
	CNI     = "/usr/lib/cni"
	Busybox = "/bin/busybox"
)

func needs() map[string]string {
	return map[string]string{
		Etcd:                 "etcd-server",
		Runc:                 "runc",
		CNI + "/bridge":      "containernetworking-plugins",
		"/usr/sbin/nft":      "nftables", // kube-proxy's mode
		"/usr/sbin/iptables": "iptables", // the kubelet and CNI plugins look for it
		Busybox:              "busybox-static",
		"/usr/bin/gcc":       "gcc",
		"/usr/include/sys/types.h|/usr/include/x86_64-linux-gnu/sys/types.h|/usr/include/aarch64-linux-gnu/sys/types.h": "libc6-dev",
		"/sbin/ip|/usr/sbin/ip": "iproute2",
		"/usr/bin/unshare":      "util-linux",
		"/bin/mount":            "mount",
	}
}

// Ensure installs the packages that are missing, saying so first. Where it
// cannot, its error names them.
func Ensure(out io.Writer) error {
	packages := missing(exists)
	if len(packages) == 0 {
		return nil
	}
	list := strings.Join(packages, " ")
	if os.Geteuid() != 0 {
		return fmt.Errorf("install packages: missing %s; install them, or run this as root", list)
	}
	apt, err := exec.LookPath("apt-get")
	if err != nil {
		return fmt.Errorf("install packages: missing %s (Debian's names), and this machine has no apt-get", list)
	}
	fmt.Fprintln(out, "installing Debian packages:", list)
	for _, args := range [][]string{{"update", "-q"}, append([]string{"install", "-q", "-y", "--no-install-recommends"}, packages...)} {
		cmd := exec.Command(apt, args...)
		cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive", "RUNLEVEL=1") // installs etcd, does not start it
		if log, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("install packages %s: %w\n%s", list, err, log)
		}
	}
	if left := missing(exists); len(left) > 0 {
		return fmt.Errorf("install packages: %s installed, but their files are not where they are expected", strings.Join(left, " "))
	}
	return nil
}

// missing lists, sorted, the packages of which has knows no file.
func missing(has func(string) bool) []string {
	packages := map[string]bool{}
	for paths, name := range needs() {
		if !slices.ContainsFunc(strings.Split(paths, "|"), has) {
			packages[name] = true
		}
	}
	return slices.Sorted(maps.Keys(packages))
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
