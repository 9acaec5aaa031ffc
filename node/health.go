// SPDX-License-Identifier: Apache-2.0

package node

import (
	"fmt"

	"aipub.io/aipub/gpu"
)

// Whole stands for "all of them" where an instance number is asked.
const Whole = -1

// instanceKey names a MIG instance; ci is Whole for the GPU instance.
type instanceKey struct {
	gpu    string
	gi, ci int
}

// SetHealth records how fit a piece of hardware is. With gi Whole it is the
// whole GPU and every slice on it; with ci Whole a GPU instance; otherwise one
// compute instance. Each of the three is kept by itself: a slice is healthy
// when its GPUs are, and its instance is. Health may arrive before the layout.
func (s *State) SetHealth(uuid string, gi, ci int, h gpu.Health) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if h.OK {
		h = gpu.Health{OK: true}
	}
	if gi < 0 {
		s.gpus[uuid] = h
	} else {
		s.instances[instanceKey{uuid, gi, max(ci, Whole)}] = h
	}
	s.commit(false)
}

// SetInstance records the hardware behind a MIG slice. New hardware starts
// healthy, whatever was said of an earlier instance of the same number. The
// error says which slice the layout lacks or is of another kind.
func (s *State) SetInstance(id gpu.SliceID, in gpu.Instance) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.entries[id]
	if e == nil {
		return fmt.Errorf("set instance: slice %s is not in the layout", id)
	}
	if e.slice.Kind != gpu.KindMIG {
		return fmt.Errorf("set instance: slice %s is of kind %s, not %s", id, e.slice.Kind, gpu.KindMIG)
	}
	if e.instance == nil || e.instance.UUID != in.UUID {
		s.forget(in)
	}
	e.instance = &in
	s.commit(false)
	return nil
}

// ClearInstance records that the hardware behind a MIG slice is gone. A slice
// that is held stays held.
func (s *State) ClearInstance(id gpu.SliceID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.entries[id]; e != nil && e.instance != nil {
		s.forget(*e.instance)
		e.instance = nil
		s.commit(false)
	}
}

// forget drops what was said of an instance's health.
func (s *State) forget(in gpu.Instance) {
	for k := range s.instances {
		if k.gpu == in.GPU && k.gi == in.GIID {
			delete(s.instances, k)
		}
	}
}

// health is the first fault among a slice's GPUs and its instance.
func (s *State) health(e *entry) gpu.Health {
	for _, uuid := range e.slice.GPUs {
		if h, ok := s.gpus[uuid]; ok && !h.OK {
			return h
		}
	}
	if in := e.instance; in != nil {
		for _, ci := range []int{Whole, in.CIID} {
			if h, ok := s.instances[instanceKey{in.GPU, in.GIID, ci}]; ok && !h.OK {
				return h
			}
		}
	}
	return gpu.Health{OK: true}
}

// gpuHealth is the health of every GPU of the layout and of held slices.
func (s *State) gpuHealth() map[string]gpu.Health {
	all := make(map[string]gpu.Health, len(s.layout.Modes))
	add := func(uuid string) {
		h, ok := s.gpus[uuid]
		if !ok {
			h.OK = true
		}
		all[uuid] = h
	}
	for uuid := range s.layout.Modes {
		add(uuid)
	}
	for _, e := range s.entries {
		for _, uuid := range e.slice.GPUs {
			add(uuid)
		}
	}
	return all
}
