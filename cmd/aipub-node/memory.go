// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/go-logr/logr"

	"aipub.io/aipub/gpu"
	"aipub.io/aipub/node"
	"aipub.io/aipub/node/host"
	"aipub.io/aipub/partitioner/store"
)

// memory is what survives a restart.
type memory struct {
	store *store.Store
	log   logr.Logger
}

func openMemory(dir string, log logr.Logger) (*memory, error) {
	s, err := store.Open(store.Config{Path: filepath.Join(dir, "partition.json")})
	if err != nil {
		return nil, err
	}
	return &memory{store: s, log: log}, nil
}

// recall puts the node's state back to what was remembered, so that the kubelet
// hears the same IDs at once. MIG instances of an earlier boot are gone; their
// slices stay Preparing until they exist again.
func (m *memory) recall(state *node.State, bootID string) (store.Record, error) {
	r, err := m.store.Load()
	var bad *store.BadFileError
	switch {
	case errors.Is(err, os.ErrNotExist):
		return store.Record{}, nil
	case errors.As(err, &bad):
		m.log.Error(err, "starting from the hardware", "kept", bad.Kept)
		return store.Record{}, nil
	case err != nil:
		return store.Record{}, err
	}
	state.SetLayout(r.Layout)
	state.Restore(heldStatuses(r))
	if bootID != "" && r.BootID == bootID {
		for id, in := range r.Instances {
			if err := state.SetInstance(id, in); err != nil {
				m.log.Info("forgetting an instance", "slice", id, "cause", err.Error())
			}
		}
	}
	return r, nil
}

// heldStatuses are the slices that the record says are held.
func heldStatuses(r store.Record) []gpu.Status {
	var out []gpu.Status
	for _, h := range r.Held {
		out = append(out, gpu.Status{Slice: h.Slice, State: gpu.StateHeld, Holder: h.Holder, Since: h.Since, Health: gpu.Health{OK: true}})
	}
	return out
}

// save remembers; what goes wrong is logged, since the hardware and the kubelet
// know everything that matters, only more slowly.
func (m *memory) save(r store.Record) {
	if err := m.store.Save(r); err != nil {
		m.log.Error(err, "remember the partition")
	}
}

// record is what is to be remembered now.
func (a *agent) record() store.Record {
	t, snap := a.last(), a.state.Snapshot()
	r := store.Record{
		BootID: a.bootID, Layout: a.state.Layout(),
		Instances: map[gpu.SliceID]gpu.Instance{},
		Facts:     store.Facts{DriverVersion: t.inventory.DriverVersion, CUDAVersion: t.inventory.CUDAVersion, GPUs: t.gpus, NUMA: numaFacts(t.numa)},
	}
	if t.policy != nil {
		r.Policy = store.Policy{Name: t.policy.Name, Generation: t.policy.Generation}
	}
	for _, st := range snap.Slices {
		if st.Instance != nil {
			r.Instances[st.Slice.ID] = *st.Instance
		}
		if st.State == gpu.StateHeld || st.State == gpu.StateRetired {
			r.Held = append(r.Held, store.Held{Slice: st.Slice, Holder: st.Holder, Since: st.Since.UTC()})
		}
	}
	return r
}

func numaFacts(nodes []host.NUMANode) []store.NUMANode {
	var out []store.NUMANode
	for _, n := range nodes {
		out = append(out, store.NUMANode{ID: n.ID, CPUs: n.CPUs, MemoryBytes: n.MemoryBytes})
	}
	return out
}
