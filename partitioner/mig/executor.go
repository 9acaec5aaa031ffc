// SPDX-License-Identifier: Apache-2.0

package mig

import (
	"context"
	"fmt"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/go-logr/logr"

	"aipub.io/aipub/gpu"
	"aipub.io/aipub/partitioner"
)

// Devices gives access to GPUs, one user at a time. f runs in a goroutine that
// goes on when ctx ends.
type Devices interface {
	WithGPU(ctx context.Context, uuid string, f func(nvml.Device) error) error
}

// Executor carries out steps. It keeps no state.
type Executor struct {
	devices Devices
}

// New makes an Executor.
func New(d Devices) *Executor { return &Executor{devices: d} }

// Apply carries out one step and returns the instance that it created; the zero
// Instance for the other kinds. Steps whose goal is reached already succeed:
// a mode that is set, an instance that is gone.
//
// Errors: ResetRequiredError, InUseError, NoRoomError, StaleError and
// ModeOffError, and whatever else the driver answers. Those that wrap ErrRetry
// can pass by themselves.
func (e *Executor) Apply(ctx context.Context, s partitioner.Step) (gpu.Instance, error) {
	log := logr.FromContextOrDiscard(ctx).WithName("mig")
	created := make(chan gpu.Instance, 1)
	err := e.devices.WithGPU(ctx, s.GPU, func(dev nvml.Device) error {
		inst, err := apply(dev, s)
		created <- inst
		return err
	})
	if err != nil {
		return gpu.Instance{}, fmt.Errorf("%s: %w", describe(s), err)
	}
	inst := <-created
	log.Info("step done", "kind", s.Kind, "gpu", s.GPU, "profile", s.Profile.Name, "start", s.Placement.Start, "gi", inst.GIID)
	return inst, nil
}

func apply(dev nvml.Device, s partitioner.Step) (gpu.Instance, error) {
	switch s.Kind {
	case partitioner.EnableMIG:
		return gpu.Instance{}, setMode(dev, s.GPU, true)
	case partitioner.DisableMIG:
		return gpu.Instance{}, setMode(dev, s.GPU, false)
	case partitioner.DestroyInstance:
		return gpu.Instance{}, destroy(dev, s.Instance)
	case partitioner.CreateInstance:
		return create(dev, s)
	}
	return gpu.Instance{}, fmt.Errorf("step kind %q is unknown", s.Kind)
}

// describe names a step in error messages.
func describe(s partitioner.Step) string {
	switch s.Kind {
	case partitioner.CreateInstance:
		return fmt.Sprintf("create MIG %s at %d:%d", s.Profile.Name, s.Placement.Start, s.Placement.Size)
	case partitioner.DestroyInstance:
		return fmt.Sprintf("destroy GPU instance %d", s.Instance.GIID)
	default:
		return string(s.Kind)
	}
}
