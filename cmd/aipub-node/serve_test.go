// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"aipub.io/aipub/test/gpusim"
)

// get asks the agent's server.
func get(t *testing.T, h http.Handler, path string) (int, string) {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
	body, err := io.ReadAll(w.Result().Body)
	if err != nil {
		t.Fatal(err)
	}
	return w.Code, string(body)
}

func TestReadyOnceTheClusterWasHeard(t *testing.T) {
	r := newRig(t, "")
	r.want("")
	r.cluster.reach(false)
	r.start()
	h := newMetrics().handler(r.agent)
	if code, _ := get(t, h, "/healthz"); code != http.StatusOK {
		t.Errorf("/healthz %d", code)
	}
	if code, body := get(t, h, "/readyz"); code != http.StatusServiceUnavailable || !strings.Contains(body, "not been heard") {
		t.Errorf("/readyz %d %q", code, body)
	}
	r.cluster.reach(true)
	r.eventually("/readyz", func() bool { code, _ := get(t, h, "/readyz"); return code == http.StatusOK })
}

func TestMetricsNameHoldersAndHealth(t *testing.T) {
	r := newRig(t, gpusim.ThreeH200)
	r.want(threeWays)
	r.start()
	r.allocatable("mig", 7)
	_, ids := r.pod("mig", 1)
	r.machine.Ctl("lose", "2")
	r.allocatable("large", 0)
	_, body := get(t, newMetrics().handler(r.agent), "/metrics")
	in := r.slice(ids[0]).Instance
	for _, want := range []string{
		`aipub_slices{set="mig",state="Held"} 1`,
		`aipub_slices{set="mig",state="Free"} 6`,
		`aipub_gpu_healthy{UUID="` + r.gpus[2].UUID + `",gpu="2",model="NVIDIA H200",reason="DeviceLost"} 0`,
		`pod="pod-1"`,
		`GPU_I_PROFILE="1g.18gb"`,
	} {
		if !strings.Contains(body, want) {
			t.Errorf("/metrics lacks %s (instance %v)", want, in)
		}
	}
}

func TestHasNVIDIA(t *testing.T) {
	tests := map[string]struct {
		vendor, class string
		want          bool
	}{
		"an H200":              {"0x10de\n", "0x030200\n", true},
		"NVIDIA's audio":       {"0x10de\n", "0x040300\n", false},
		"another's display":    {"0x1002\n", "0x030000\n", false},
		"a device that is odd": {"", "", false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			sys := t.TempDir()
			device := filepath.Join(sys, "bus/pci/devices/0000:0a:00.0")
			if err := os.MkdirAll(device, 0o755); err != nil {
				t.Fatal(err)
			}
			for file, content := range map[string]string{"vendor": tc.vendor, "class": tc.class} {
				if err := os.WriteFile(filepath.Join(device, file), []byte(content), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if got := hasNVIDIA(sys); got != tc.want {
				t.Errorf("hasNVIDIA = %v, want %v", got, tc.want)
			}
		})
	}
	if hasNVIDIA(t.TempDir()) {
		t.Error("a machine without PCI has none")
	}
}
