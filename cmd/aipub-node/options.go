// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"

	"aipub.io/aipub/deviceplugin/kubelet"
	"aipub.io/aipub/node/activity"
	"aipub.io/aipub/reclaim/containerd"
)

// options is the command line, read once.
type options struct {
	node           string
	kubeconfig     string
	driverRoot     string // on the host
	driverMount    string // the same folder as this process sees it
	devRoot        string // on the host
	nvmlLibrary    string
	cdiHook        string
	cdiDir         string
	cdi            bool // whether the container runtime resolves CDI devices
	stateDir       string
	pluginDir      string
	podResources   string
	sys            string
	proc           string
	metricsAddress string
	logLevel       string
	ignoreXids     []uint
	criticalXids   []uint
	limiter        bool
	limiterDir     string // in the image
	runDir         string // the same on the host and here
	contextMiB     uint64
	pids           string // /proc of the host's process numbers
	cgroupRoot     string // the host's cgroup hierarchy
	idle           activity.Thresholds
	containerd     string // its socket; empty where containers are not saved
	registry       containerd.RegistryOptions
	version        bool
}

const usage = `aipub-node cuts the GPUs of this node into ResourceSets and serves them to its kubelet.

It runs as a DaemonSet (chart aipub) and needs the node's plugin, CDI and driver
folders. Flags:

`

// parse reads the command line. Each flag that is wrong is named with its value
// and what is allowed.
func parse(args []string) (options, error) {
	o := options{}
	f := pflag.NewFlagSet("aipub-node", pflag.ContinueOnError)
	f.SortFlags = false
	f.Usage = func() { fmt.Fprint(os.Stderr, usage+f.FlagUsages()) }
	f.StringVar(&o.node, "node-name", os.Getenv("NODE_NAME"), "name of this node in the cluster (environment NODE_NAME)")
	f.StringVar(&o.kubeconfig, "kubeconfig", "", "kubeconfig file; without it, the pod's service account")
	f.StringVar(&o.driverRoot, "driver-root", "/", "folder of the GPU driver's installation on the host")
	f.StringVar(&o.driverMount, "driver-root-mount", "/driver-root", "where that folder is mounted for this process")
	f.StringVar(&o.devRoot, "dev-root", "", "folder on the host that has dev/nvidia*; default the driver root")
	f.StringVar(&o.nvmlLibrary, "nvml-library", "", "libnvidia-ml.so.1; default: found under the driver root, then by the dynamic loader")
	f.StringVar(&o.cdiHook, "cdi-hook", "", "nvidia-cdi-hook on the host; default: looked for in the usual places")
	f.BoolVar(&o.cdi, "cdi", true, "name CDI devices to the kubelet; false for a container runtime without CDI: devices, mounts and environment are given one by one")
	f.StringVar(&o.cdiDir, "cdi-dir", "/var/run/cdi", "folder for CDI specifications that the container runtime reads")
	f.StringVar(&o.stateDir, "state-dir", "/var/lib/aipub", "folder for what must survive a restart")
	f.StringVar(&o.pluginDir, "kubelet-plugin-dir", kubelet.DefaultDir, "the kubelet's device plugin folder")
	f.StringVar(&o.podResources, "pod-resources-socket", kubelet.DefaultPodResources, "the kubelet's PodResources socket")
	f.StringVar(&o.sys, "host-sys", "/sys", "the host's /sys")
	f.StringVar(&o.proc, "host-proc", "/proc", "the host's /proc")
	f.StringVar(&o.metricsAddress, "metrics-address", ":9402", "address of /metrics, /healthz and /readyz")
	f.StringVar(&o.logLevel, "log-level", "info", "debug, info, warn or error")
	f.UintSliceVar(&o.ignoreXids, "ignore-xids", nil, "Xid errors that never make a GPU unhealthy, beside the usual application errors")
	f.UintSliceVar(&o.criticalXids, "critical-xids", nil, "Xid errors that always make a GPU unhealthy")
	f.BoolVar(&o.limiter, "limiter", true, "limit block slices to their share and lend what is idle; false counts them only")
	f.StringVar(&o.limiterDir, "limiter-dir", "/usr/lib/aipub", "folder of the image with libaipub-*.so and aipub-cdi-hook")
	f.StringVar(&o.runDir, "run-dir", "/run/aipub", "folder on a tmpfs of the host, under the same name here, for what processes share with the agent")
	f.Uint64Var(&o.contextMiB, "context-mib", 512, "device memory that one CUDA context is taken to cost until it has been measured")
	f.StringVar(&o.pids, "host-pids", "/proc", "/proc with the host's process numbers (hostPID), for the processes on block slices")
	f.StringVar(&o.cgroupRoot, "cgroup-root", "/sys/fs/cgroup", "the host's cgroup version 2 hierarchy, writable; where its kernel and driver can, they limit device memory too")
	f.Float64Var(&o.idle.CPUPercent, "idle-cpu-percent", 10, "a container is idle that uses at most so many percent of one CPU, from one look to the next (10 s)")
	f.Float64Var(&o.idle.GPUPercent, "idle-gpu-percent", 1, "a container is idle that uses its GPU for at most so many percent of the time, likewise")
	f.StringVar(&o.containerd, "containerd-socket", "", "socket of the node's containerd, through which Workspaces are saved before they are paused; empty: they are not")
	f.StringVar(&o.registry.Repository, "save-repository", "", "HOST[:PORT]/PATH in a registry to which saved Workspaces are pushed; empty: they stay on the node")
	f.BoolVar(&o.registry.Insecure, "save-insecure", false, "use plain HTTP, or a certificate that nobody vouches for, with that registry")
	f.StringVar(&o.registry.DockerConfig, "save-docker-config", "", "config.json as docker login writes it, for that registry")
	f.BoolVar(&o.version, "version", false, "print the version and exit")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	if f.NArg() > 0 {
		return o, fmt.Errorf("argument %q: aipub-node takes flags only; see --help", f.Arg(0))
	}
	if o.devRoot == "" {
		o.devRoot = o.driverRoot
	}
	return o, o.validate()
}

func (o options) validate() error {
	if o.version {
		return nil
	}
	if o.node == "" {
		return fmt.Errorf("--node-name: empty; give the node's name, or set NODE_NAME from the downward API (fieldRef spec.nodeName)")
	}
	for _, p := range []struct{ flag, path string }{
		{"--driver-root", o.driverRoot}, {"--driver-root-mount", o.driverMount}, {"--dev-root", o.devRoot}, {"--cdi-dir", o.cdiDir},
		{"--state-dir", o.stateDir}, {"--kubelet-plugin-dir", o.pluginDir}, {"--pod-resources-socket", o.podResources},
		{"--host-sys", o.sys}, {"--host-proc", o.proc}, {"--limiter-dir", o.limiterDir}, {"--run-dir", o.runDir},
		{"--cgroup-root", o.cgroupRoot},
	} {
		if !filepath.IsAbs(p.path) {
			return fmt.Errorf("%s: %q is not an absolute path; give one that starts with /", p.flag, p.path)
		}
	}
	if p := o.idle.CPUPercent; !(p >= 0) {
		return fmt.Errorf("--idle-cpu-percent: %v; allowed are percents of one CPU from 0", p)
	}
	if p := o.idle.GPUPercent; !(p >= 0 && p <= 100) {
		return fmt.Errorf("--idle-gpu-percent: %v; allowed are percents from 0 to 100", p)
	}
	if o.containerd != "" && !filepath.IsAbs(o.containerd) {
		return fmt.Errorf("--containerd-socket: %q is not an absolute path; give one that starts with /", o.containerd)
	}
	if o.registry.Repository != "" && o.containerd == "" {
		return fmt.Errorf("--save-repository: %q, and no --containerd-socket; give both, or neither", o.registry.Repository)
	}
	if _, _, err := net.SplitHostPort(o.metricsAddress); err != nil {
		return fmt.Errorf("--metrics-address: %q is not HOST:PORT; give one such as :9402", o.metricsAddress)
	}
	_, err := o.level()
	return err
}

// level is the log level.
func (o options) level() (slog.Level, error) {
	var l slog.Level
	if err := l.UnmarshalText([]byte(strings.ToUpper(o.logLevel))); err != nil {
		return l, fmt.Errorf("--log-level: %q; allowed are debug, info, warn and error", o.logLevel)
	}
	return l, nil
}
