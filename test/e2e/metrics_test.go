//go:build e2e

// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func agentAddress(t *testing.T) string {
	t.Helper()
	ip := strings.TrimSpace(mustKubectl(t, "-n", "aipub-system", "get", "pod", "-l", "app.kubernetes.io/component=node", "-o", "jsonpath={.items[0].status.podIP}"))
	return ip + ":9402"
}

func get(t *testing.T, url string) string {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("GET %s: %s", url, resp.Status)
	}
	return string(body)
}

func TestMetricsAreCleanAndTellWhoHoldsWhat(t *testing.T) {
	start(t, pod("counted", "small"))
	running(t, "counted")
	holderOf(t, "counted")
	text := get(t, "http://"+agentAddress(t)+"/metrics")
	for _, want := range []string{
		`aipub_slices{set="small",state="Held"} 1`,
		`pod="counted"`, `aipub_gpu_healthy{`, `aipub_plugin_streams{set="small"} 1`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("/metrics does not have %s", want)
		}
	}
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Fatal("promtool is missing; on Debian and Ubuntu: apt-get install prometheus (test/e2e/up.sh does it)")
	}
	cmd := exec.Command(promtool, "check", "metrics")
	cmd.Stdin = strings.NewReader(text)
	if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("promtool check metrics: %v\n%s", err, out)
	}
}

func TestPrometheusScrapesTheAgent(t *testing.T) {
	binary, err := exec.LookPath("prometheus")
	if err != nil {
		t.Fatal("prometheus is missing; on Debian and Ubuntu: apt-get install prometheus (test/e2e/up.sh does it)")
	}
	dir := t.TempDir()
	config := filepath.Join(dir, "prometheus.yml")
	text := fmt.Sprintf("global: {scrape_interval: 1s}\nscrape_configs:\n- job_name: aipub-node\n  static_configs: [{targets: ['%s']}]\n", agentAddress(t))
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	const listen = "127.0.0.1:19090"
	cmd := exec.CommandContext(t.Context(), binary, "--config.file="+config, "--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address="+listen)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	eventually(t, 30*time.Second, "Prometheus has the slices of every set", func(ctx context.Context) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+listen+"/api/v1/query?query="+url.QueryEscape(`sum by (set) (aipub_slices)`), nil)
		if err != nil {
			return err
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		var answer struct {
			Data struct {
				Result []struct {
					Metric map[string]string
				}
			}
		}
		if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
			return err
		}
		seen := map[string]bool{}
		for _, r := range answer.Data.Result {
			seen[r.Metric["set"]] = true
		}
		for set := range wholeNode {
			if !seen[set] {
				return fmt.Errorf("sets %v", seen)
			}
		}
		return nil
	})
}
