// SPDX-License-Identifier: Apache-2.0

package cdi

import (
	"strconv"

	"aipub.io/aipub/gpu"
)

// Variables that a container finds in its environment.
const (
	// EnvSet is the name of the set, EnvSlice the ID of the slice. A container
	// with several slices of a set sees one of the IDs.
	EnvSet   = "AIPUB_SET"
	EnvSlice = "AIPUB_SLICE"
	// EnvBlockPercent and EnvMemoryBytes are the guaranteed share of a block
	// slice. They inform; the limits are elsewhere (sharer/wire).
	EnvBlockPercent = "AIPUB_BLOCK_PERCENT"
	EnvMemoryBytes  = "AIPUB_MEMORY_BYTES"

	envVisible  = "NVIDIA_VISIBLE_DEVICES"
	visibleNone = "void"
)

// Env is the environment of a slice. It depends on the plan only, never on the
// hardware that is behind it at the moment.
func Env(s gpu.Slice) map[string]string {
	env := map[string]string{
		EnvSet:     s.Set,
		EnvSlice:   string(s.ID),
		envVisible: visibleNone,
	}
	if s.Block != nil {
		env[EnvBlockPercent] = strconv.Itoa(s.Block.Percent)
		env[EnvMemoryBytes] = strconv.FormatInt(s.Block.MemoryBytes, 10)
	}
	return env
}
