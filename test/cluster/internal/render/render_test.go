// SPDX-License-Identifier: Apache-2.0

package render

import (
	"encoding/json"
	"net/netip"
	"os/exec"
	"strings"
	"testing"

	"aipub.io/aipub/test/cluster/internal/layout"
	"aipub.io/aipub/test/cluster/internal/pki"
	"aipub.io/aipub/test/cluster/internal/simulate"
)

func configs(t *testing.T) map[string][]byte {
	t.Helper()
	machine := simulate.Machine{CPUs: 4, MemoryBytes: 8 << 30, NUMANodes: 2}
	configs, err := Configs(Input{
		Layout: layout.Layout{Work: "/w", Run: "/r", Cache: "/c"}, Node: "node-0", TopologyPolicy: "restricted",
		PauseImage: "example/pause:1", Containerd: "/bin/containerd-1", Runc: "/bin/runc", CNI: "/bin/cni",
		Mounts: machine.Mounts(),
	})
	if err != nil {
		t.Fatal(err)
	}
	return configs
}

func TestConfigsSayWhatWasAsked(t *testing.T) {
	for name, lines := range map[string][]string{
		"kubelet.yaml": {
			"address: 10.86.0.1", "topologyManagerPolicy: restricted", "failCgroupV1: false",
			"containerRuntimeEndpoint: unix:///r/containerd.sock", "podLogsDir: /w/logs/pods",
		},
		"containerd.toml": {
			"version = 4", `socket_dir = "/r/shims"`, "restrict_oom_score_adj = true", `sandbox = "example/pause:1"`,
			`runtime_path = "/bin/containerd-1/containerd-shim-runc-v2"`, `BinaryName = "/bin/runc"`, `root = "/w/containerd"`,
		},
		"kube-proxy.yaml": {"mode: nftables", "hostnameOverride: node-0"},
		"kubelet.sh": {
			"mount --bind /w/machine/boot_id /proc/sys/kernel/random/boot_id",
			"mount --bind /w/machine/cpuinfo /proc/cpuinfo", "mount --bind /w/machine/node /sys/devices/system/node",
		},
	} {
		text := string(configs(t)[name])
		for _, line := range lines {
			if !strings.Contains(text, line) {
				t.Errorf("%s lacks %q:\n%s", name, line, text)
			}
		}
	}
}

func TestCNIConfigIsJSON(t *testing.T) {
	var parsed struct {
		Plugins []struct{ Type, Bridge string }
	}
	if err := json.Unmarshal(configs(t)["cni/10-aipub.conflist"], &parsed); err != nil {
		t.Fatal(err)
	}
	if len(parsed.Plugins) != 1 || parsed.Plugins[0].Bridge != Bridge {
		t.Errorf("got %+v", parsed)
	}
}

func TestKubeletScriptIsShell(t *testing.T) {
	cmd := exec.Command("/bin/sh", "-n")
	cmd.Stdin = strings.NewReader(string(configs(t)["kubelet.sh"]))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

func TestKubeconfigQuotesNothingBecauseAllIsBase64(t *testing.T) {
	out, err := Kubeconfig("admin", []byte("ca: \"x\"\n"), pki.Pair{Cert: []byte("c\n"), Key: []byte("k\n")})
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{Server, "certificate-authority-data: Y2E6ICJ4Igo=", "client-key-data: awo=", "user: admin"} {
		if !strings.Contains(string(out), part) {
			t.Errorf("kubeconfig lacks %q:\n%s", part, out)
		}
	}
}

func TestAddressesFitTogether(t *testing.T) {
	pods, services := netip.MustParsePrefix(PodCIDR), netip.MustParsePrefix(ServiceCIDR)
	if pods.Overlaps(services) || !pods.Contains(netip.MustParseAddr(NodeIP)) || services.Addr().Next() != netip.MustParseAddr(APIService) {
		t.Errorf("pods %s, services %s, node %s, API %s", pods, services, NodeIP, APIService)
	}
}
