// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"aipub.io/aipub/test/cluster/internal/replace"
	"aipub.io/aipub/test/cluster/internal/simulate"
)

// Settings are chosen when a cluster is first brought up and stay until it is taken down.
type Settings struct {
	Node           string            `json:"node"`
	Labels         map[string]string `json:"labels"`
	Machine        simulate.Machine  `json:"machine"`
	TopologyPolicy string            `json:"topologyPolicy"` // the kubelet's topologyManagerPolicy
}

// Default is a node of the size that GPU nodes have, for tests that do not care.
func Default() Settings {
	return Settings{
		Node:           "node-0",
		Labels:         map[string]string{"aipub.io/pool": "test", "topology.kubernetes.io/zone": "zone-0"},
		Machine:        simulate.Machine{CPUs: 32, MemoryBytes: 256 << 30, NUMANodes: 2},
		TopologyPolicy: "none",
	}
}

// Validate says which setting is wrong and what is allowed.
func (s Settings) Validate() error {
	policies := []string{"none", "best-effort", "restricted", "single-numa-node"}
	if !slices.Contains(policies, s.TopologyPolicy) {
		return fmt.Errorf("topology: %q is unknown, allowed are %s", s.TopologyPolicy, strings.Join(policies, ", "))
	}
	if s.Node == "" || strings.ContainsAny(s.Node, " /=,") {
		return fmt.Errorf("node: %q is no node name, it must be like node-0", s.Node)
	}
	return s.Machine.Validate()
}

func (s Settings) nodeLabels() string {
	var pairs []string
	for _, key := range slices.Sorted(maps.Keys(s.Labels)) {
		pairs = append(pairs, key+"="+s.Labels[key])
	}
	return strings.Join(pairs, ",")
}

func (s Settings) equal(other Settings) bool {
	return s.Node == other.Node && s.Machine == other.Machine && s.TopologyPolicy == other.TopologyPolicy && maps.Equal(s.Labels, other.Labels)
}

// loadSettings returns nil where no cluster was brought up yet.
func loadSettings(path string) (*Settings, error) {
	raw, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read settings: %w", err)
	}
	var s Settings
	if err := json.Unmarshal(raw, &s); err != nil {
		return nil, fmt.Errorf("read settings %s: %w", path, err)
	}
	return &s, nil
}

func (s Settings) save(path string) error {
	raw, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return fmt.Errorf("save settings: %w", err)
	}
	return replace.File(path, append(raw, '\n'), 0o644)
}
