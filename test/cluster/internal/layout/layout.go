// SPDX-License-Identifier: Apache-2.0

// Package layout says where everything of the test cluster lives.
package layout

import (
	"fmt"
	"os"
	"path/filepath"
)

// Layout holds the three roots. All other paths follow from them.
type Layout struct {
	// Work keeps what a reboot keeps: certificates, etcd, images, logs.
	Work string
	// Run keeps what a reboot wipes: sockets, container state, network namespaces.
	Run string
	// Cache keeps what was built, for every cluster of this user.
	Cache string
}

// KubeletDir is where the kubelet has its sockets whatever its --root-dir says,
// so the cluster's kubelet directory is bind-mounted there.
const KubeletDir = "/var/lib/kubelet"

// Lock is machine-wide: one machine has one kubelet, hence one cluster.
const Lock = "/run/aipub-cluster.lock"

const runDir = "/run/aipub-cluster"

// FromEnv reads AIPUB_CLUSTER_DIR, AIPUB_CACHE and XDG_CACHE_HOME.
func FromEnv(getenv func(string) string) (Layout, error) {
	work := getenv("AIPUB_CLUSTER_DIR")
	if work == "" {
		work = "/var/lib/aipub-cluster"
	}
	cache := getenv("AIPUB_CACHE")
	if cache == "" {
		base := getenv("XDG_CACHE_HOME")
		if base == "" {
			home := getenv("HOME")
			if home == "" {
				return Layout{}, fmt.Errorf("find cache folder: none of AIPUB_CACHE, XDG_CACHE_HOME and HOME is set")
			}
			base = filepath.Join(home, ".cache")
		}
		cache = filepath.Join(base, "aipub")
	}
	for name, path := range map[string]string{"AIPUB_CLUSTER_DIR": work, "AIPUB_CACHE": cache} {
		if !filepath.IsAbs(path) {
			return Layout{}, fmt.Errorf("read %s: %q must be an absolute path", name, path)
		}
	}
	if filepath.Clean(work) == "/" {
		return Layout{}, fmt.Errorf("read AIPUB_CLUSTER_DIR: the root folder cannot be the work folder, `down` empties it")
	}
	return Layout{Work: filepath.Clean(work), Run: runDir, Cache: filepath.Join(cache, "cluster")}, nil
}

// Kubeconfig is the administrator's.
func (l Layout) Kubeconfig() string { return l.Config("admin.kubeconfig") }

// Config is a rendered configuration file.
func (l Layout) Config(name string) string { return filepath.Join(l.Work, "etc", name) }

// PKI is a certificate or key file.
func (l Layout) PKI(name string) string { return filepath.Join(l.Work, "pki", name) }

// Log is a component's log file; `down` leaves the logs.
func (l Layout) Log(name string) string { return filepath.Join(l.Work, "logs", name+".log") }

// PodLogs is the kubelet's podLogsDir.
func (l Layout) PodLogs() string { return filepath.Join(l.Work, "logs", "pods") }

// Processes keeps the record of each process that was started.
func (l Layout) Processes() string { return filepath.Join(l.Work, "processes") }

// Machine holds the files that describe the simulated machine to the kubelet.
func (l Layout) Machine() string { return filepath.Join(l.Work, "machine") }

// BootID is the node's boot id: made at the first start, replaced by each simulated reboot.
func (l Layout) BootID() string { return filepath.Join(l.Machine(), "boot_id") }

// RebootHooks are run, in name order, while the simulated node is off.
func (l Layout) RebootHooks() string { return filepath.Join(l.Work, "reboot.d") }

// Settings records what the cluster was first brought up with.
func (l Layout) Settings() string { return filepath.Join(l.Work, "settings.json") }

// Sysctls records the kernel settings that were changed, with their former values.
func (l Layout) Sysctls() string { return filepath.Join(l.Work, "sysctls.json") }

// Etcd is etcd's data.
func (l Layout) Etcd() string { return filepath.Join(l.Work, "etcd") }

// Kubelet is bind-mounted on KubeletDir.
func (l Layout) Kubelet() string { return filepath.Join(l.Work, "kubelet") }

// FlexVolumes is an empty folder: the default one would be made on the machine.
func (l Layout) FlexVolumes() string { return filepath.Join(l.Work, "flexvolumes") }

// Containerd is containerd's persistent root.
func (l Layout) Containerd() string { return filepath.Join(l.Work, "containerd") }

// ContainerdSocket is where the kubelet and ctr find containerd.
func (l Layout) ContainerdSocket() string { return filepath.Join(l.Run, "containerd.sock") }

// Bin holds links to the commands of this cluster's versions.
func (l Layout) Bin() string { return filepath.Join(l.Work, "bin") }

// Owner names, in the machine-wide run folder, the work folder whose cluster is up.
func (l Layout) Owner() string { return filepath.Join(l.Run, "owner") }

// Make creates the folders that are not made by the programs using them.
func (l Layout) Make() error {
	dirs := []string{
		filepath.Join(l.Work, "etc", "cni"), filepath.Join(l.Work, "cni"), filepath.Join(l.Work, "pki"), l.PodLogs(),
		l.Processes(), l.Machine(), l.RebootHooks(), l.Etcd(), l.Kubelet(), l.FlexVolumes(), l.Containerd(), l.Run, l.Cache,
	}
	for _, dir := range dirs {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return fmt.Errorf("make folder: %w", err)
		}
	}
	return os.Chmod(l.Etcd(), 0o700)
}
