// SPDX-License-Identifier: Apache-2.0

package containerd

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// newConfig is the configuration of an origin's base with one layer more. What it does
// not know of the original it leaves as it is.
func newConfig(o *origin, l layer, image string, now time.Time) ([]byte, error) {
	var all, config map[string]json.RawMessage
	var known v1.ConfigFile
	if err := json.Unmarshal(o.config, &all); err != nil {
		return nil, fmt.Errorf("read configuration of the base: %w", err)
	}
	if err := json.Unmarshal(o.config, &known); err != nil {
		return nil, fmt.Errorf("read configuration of the base: %w", err)
	}
	if raw, ok := all["config"]; ok {
		if err := json.Unmarshal(raw, &config); err != nil {
			return nil, fmt.Errorf("read configuration of the base: %w", err)
		}
	}
	if config == nil {
		config = map[string]json.RawMessage{}
	}
	labels := known.Config.Labels
	if labels == nil {
		labels = map[string]string{}
	}
	labels[BaseLayersLabel] = strconv.Itoa(len(o.diffIDs))
	err := set(config, "Labels", labels)
	if err == nil {
		err = set(all, "config", config)
	}
	if err == nil {
		err = set(all, "created", v1.Time{Time: now.UTC()})
	}
	if err == nil {
		err = set(all, "rootfs", v1.RootFS{Type: "layers", DiffIDs: append(slices.Clone(o.diffIDs), l.diffID)})
	}
	delete(all, "history")
	if history, ok := baseHistory(known.History, len(o.diffIDs)); err == nil && ok {
		err = set(all, "history", append(history, v1.History{
			Created: v1.Time{Time: now.UTC()}, CreatedBy: "aipub-node", Comment: "saved as " + image,
		}))
	}
	if err != nil {
		return nil, err
	}
	return json.Marshal(all)
}

func set(in map[string]json.RawMessage, key string, value any) error {
	raw, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("write %s: %w", key, err)
	}
	in[key] = raw
	return nil
}

// baseHistory is the part of a history that tells of the first layers; false where it
// does not tell of each.
func baseHistory(history []v1.History, layers int) ([]v1.History, bool) {
	kept := []v1.History{}
	for _, h := range history {
		if !h.EmptyLayer {
			if layers == 0 {
				break
			}
			layers--
		}
		kept = append(kept, h)
	}
	return kept, layers == 0
}

// newManifest is the manifest of the base with one layer more, and the labels by which
// containerd keeps what it names.
func newManifest(o *origin, l layer, config v1.Descriptor) ([]byte, map[string]string, error) {
	m := v1.Manifest{SchemaVersion: 2, MediaType: types.OCIManifestSchema1, Config: config}
	for _, d := range append(slices.Clone(o.layers), l.Descriptor) {
		d.MediaType = ociLayer(d.MediaType)
		m.Layers = append(m.Layers, d)
	}
	labels := map[string]string{"containerd.io/gc.ref.content.config": config.Digest.String()}
	for i, d := range m.Layers {
		labels["containerd.io/gc.ref.content.l."+strconv.Itoa(i)] = d.Digest.String()
	}
	raw, err := json.Marshal(m)
	if err != nil {
		return nil, nil, fmt.Errorf("write manifest: %w", err)
	}
	return raw, labels, nil
}

// ociLayer is the name that an OCI manifest has for a layer of an older one; they are
// the same bytes.
func ociLayer(t types.MediaType) types.MediaType {
	switch t {
	case types.DockerLayer:
		return types.OCILayer
	case types.DockerUncompressedLayer:
		return types.OCIUncompressedLayer
	default:
		return t
	}
}
