// SPDX-License-Identifier: Apache-2.0

package socket

import (
	"encoding/hex"
	"fmt"
	"strings"

	"aipub.io/aipub/gpu"
	"aipub.io/aipub/sharer"
	"aipub.io/aipub/sharer/wire"
)

// Slice is a block slice that a container holds, and what it is allowed.
type Slice struct {
	ID gpu.SliceID
	// GPU is the UUID as NVML writes it: GPU-xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx.
	GPU string
	// Tenant is who holds the slice. Slices of one tenant have their leases
	// together; Lend and Borrow of a tenant are what all its slices say, and its
	// MaxPermille is the largest.
	Tenant sharer.TenantID

	// Permille of the GPU's time is guaranteed, 1 to 1000. With 0 compute is not
	// limited: launches need no lease.
	Permille int
	// MaxPermille is the most with what is borrowed; less than Permille counts
	// as Permille.
	MaxPermille  int
	Lend, Borrow bool

	// MemoryBytes is the most that the processes may allocate now; with 0 memory
	// is not limited.
	MemoryBytes uint64
	// GuaranteedBytes of it are never asked back.
	GuaranteedBytes uint64
	// MaxMemoryBytes is the most that MemoryBytes is ever to be; above
	// GuaranteedBytes the difference is revocable, and MemoryBytes may fall.
	MaxMemoryBytes uint64
	// ContextBytes is what one context costs on this GPU and driver.
	ContextBytes uint64
	// Reclaim is what the processes are asked to do about revocable memory.
	Reclaim wire.Reclaim
}

// InvalidSliceError says what is wrong with a slice that Set was given.
type InvalidSliceError struct {
	Slice   gpu.SliceID
	Field   string
	Value   any
	Allowed string
}

func (e *InvalidSliceError) Error() string {
	return fmt.Sprintf("slice %q: %s is %v, allowed is %s", e.Slice, e.Field, e.Value, e.Allowed)
}

func (s Slice) validate() error {
	invalid := func(field string, value any, allowed string) error {
		return &InvalidSliceError{Slice: s.ID, Field: field, Value: value, Allowed: allowed}
	}
	if !validID(string(s.ID)) {
		return invalid("ID", s.ID, fmt.Sprintf("1 to %d of [a-z0-9-]", gpu.MaxSliceIDLength))
	}
	if _, err := parseUUID(s.GPU); err != nil {
		return invalid("GPU", s.GPU, "a UUID as NVML writes it")
	}
	if s.Permille < 0 || s.Permille > 1000 {
		return invalid("Permille", s.Permille, "0 to 1000")
	}
	if s.MaxPermille < 0 || s.MaxPermille > 1000 {
		return invalid("MaxPermille", s.MaxPermille, "0 to 1000")
	}
	if s.Tenant == "" {
		return invalid("Tenant", s.Tenant, "not empty")
	}
	return nil
}

func (s Slice) maxPermille() int { return max(s.Permille, s.MaxPermille) }

func (s Slice) flags() uint32 {
	var f uint32
	for flag, set := range map[uint32]bool{
		wire.HasMemory:  s.MemoryBytes > 0,
		wire.HasCompute: s.Permille > 0,
		wire.Lend:       s.Lend,
		wire.Borrow:     s.Borrow,
		wire.Revocable:  s.MaxMemoryBytes > s.GuaranteedBytes,
	} {
		if set {
			f |= flag
		}
	}
	return f
}

// validID reports whether id may be the name of a directory and fits its field
// in the grant. Slice IDs are this by construction; a path is made of it, so it
// is checked.
func validID(id string) bool {
	return id != "" && len(id) <= gpu.MaxSliceIDLength &&
		strings.Trim(id, "abcdefghijklmnopqrstuvwxyz0123456789-") == ""
}

// parseUUID gives the bytes of a GPU's UUID in the order of cuDeviceGetUuid.
func parseUUID(name string) ([16]byte, error) {
	var uuid [16]byte
	digits := strings.ReplaceAll(strings.TrimPrefix(name, "GPU-"), "-", "")
	b, err := hex.DecodeString(digits)
	if err != nil || len(b) != len(uuid) || !strings.HasPrefix(name, "GPU-") {
		return uuid, fmt.Errorf("parse GPU UUID: %q", name)
	}
	copy(uuid[:], b)
	return uuid, nil
}
