// SPDX-License-Identifier: Apache-2.0

package fakekubelet

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

const checkpointFile = "kubelet_internal_checkpoint"

// record is what one container holds of one resource, as it is kept on disk.
type record struct {
	PodUID, Container, Resource string
	Devices                     []string
	// Response is the plugin's answer, encoded.
	Response []byte
}

type checkpointData struct {
	Records   []record
	Resources []string
}

// checkpoint writes the records down. k.mu is held.
func (k *Kubelet) checkpoint() {
	data, err := json.Marshal(checkpointData{k.records, slices.Sorted(maps.Keys(k.healthy))})
	if err != nil {
		return
	}
	tmp := filepath.Join(k.cfg.Dir, checkpointFile+".tmp")
	if os.WriteFile(tmp, data, 0o600) == nil {
		os.Rename(tmp, filepath.Join(k.cfg.Dir, checkpointFile)) // a lost checkpoint is a case to test
	}
}

func readCheckpoint(dir string) ([]record, []string, error) {
	data, err := os.ReadFile(filepath.Join(dir, checkpointFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("read checkpoint: %w", err)
	}
	var c checkpointData
	if err := json.Unmarshal(data, &c); err != nil {
		return nil, nil, fmt.Errorf("parse checkpoint: %w", err)
	}
	return c.Records, c.Resources, nil
}
