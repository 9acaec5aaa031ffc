// SPDX-License-Identifier: Apache-2.0

package mig

import (
	"errors"
	"fmt"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"aipub.io/aipub/gpu"
)

// ErrRetry is wrapped by errors that can pass by themselves: the same plan, made
// again from what the hardware says then, may succeed.
var ErrRetry = errors.New("try again later")

// ResetRequiredError says that the MIG mode was set but the GPU must be reset
// before it holds.
type ResetRequiredError struct {
	GPU string
	// Enable is the mode that waits.
	Enable bool
	// Status is the driver's activation status.
	Status nvml.Return
}

// Error implements error.
func (e *ResetRequiredError) Error() string {
	return fmt.Sprintf("MIG mode %s of GPU %s is pending and needs a GPU reset (driver: %s): "+
		"stop everything that uses the GPU, monitoring agents included, then run "+
		"`nvidia-smi --gpu-reset -i %s`, or reboot the node", onOff(e.Enable), e.GPU, e.Status, e.GPU)
}

// InUseError says that somebody uses what the step would change. It wraps
// ErrRetry.
type InUseError struct {
	GPU string
	// What is in use, such as "GPU instance 3".
	What string
}

// Error implements error.
func (e *InUseError) Error() string {
	return fmt.Sprintf("%s of GPU %s is in use by a process: wait for it to end or stop it (nvidia-smi shows it)", e.What, e.GPU)
}

// Unwrap implements errors.Unwrap.
func (e *InUseError) Unwrap() error { return ErrRetry }

// NoRoomError says that the driver found no room for an instance at its
// placement: it overlaps another instance, or the GPU has too few free compute
// slices or media engines left. The driver does not say which.
type NoRoomError struct {
	GPU       string
	Profile   gpu.Profile
	Placement gpu.Placement
}

// Error implements error.
func (e *NoRoomError) Error() string {
	return fmt.Sprintf("no room for a MIG %s instance at memory slices %d to %d of GPU %s: another instance overlaps it, "+
		"or too few compute slices are free; read the GPU's instances and plan again",
		e.Profile.Name, e.Placement.Start, e.Placement.Start+e.Placement.Size-1, e.GPU)
}

// StaleError says that the hardware is not what the step was planned for. It
// wraps ErrRetry.
type StaleError struct {
	GPU, What string
}

// Error implements error.
func (e *StaleError) Error() string {
	return fmt.Sprintf("GPU %s has changed since the plan was made: %s; read its instances and plan again", e.GPU, e.What)
}

// Unwrap implements errors.Unwrap.
func (e *StaleError) Unwrap() error { return ErrRetry }

// ModeOffError says that instances were asked of a GPU whose MIG mode is off.
type ModeOffError struct{ GPU string }

// Error implements error.
func (e *ModeOffError) Error() string {
	return fmt.Sprintf("MIG mode of GPU %s is off: enable it before instances are created", e.GPU)
}

func onOff(enable bool) string {
	if enable {
		return "on"
	}
	return "off"
}

// verb wraps a return code with what was being done; nil for SUCCESS.
func verb(what string, ret nvml.Return) error {
	switch ret {
	case nvml.SUCCESS:
		return nil
	case nvml.ERROR_NO_PERMISSION:
		return fmt.Errorf("%s: %w: run as root, or with access to the mig/config capability", what, ret)
	default:
		return fmt.Errorf("%s: %w", what, ret)
	}
}
