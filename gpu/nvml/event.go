// SPDX-License-Identifier: Apache-2.0

package nvml

import "aipub.io/aipub/gpu"

// EventKind says what an Event tells.
type EventKind string

const (
	// HealthChanged says that the hardware named by the event has the event's
	// health.
	HealthChanged EventKind = "HealthChanged"
	// MIGChanged says that somebody changed the MIG partitioning of the GPU: read
	// its instances again. Changes that this process makes are told as well.
	MIGChanged EventKind = "MIGChanged"
)

// Event is news about the hardware.
type Event struct {
	Kind EventKind
	// GPU is the UUID.
	GPU string
	// GIID and CIID narrow the event to one MIG instance; both are -1 when it
	// concerns the whole GPU, CIID is -1 when it concerns all of the instance.
	GIID, CIID int
	// Health is set for HealthChanged.
	Health gpu.Health
}

// Reasons of gpu.Health beside those of the driver's recovery action.
const (
	ReasonXid           = "XidCritical"
	ReasonECC           = "DoubleBitECC"
	ReasonLost          = "DeviceLost"
	ReasonNotResponding = "NotResponding"
	ReasonFault         = "HardwareFault"
)
