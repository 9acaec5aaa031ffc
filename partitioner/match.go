// SPDX-License-Identifier: Apache-2.0

package partitioner

import (
	"fmt"
	"slices"
	"strings"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/gpu"
)

// memoryTolerance is how far the memory that a MIG set names may be from what
// the driver reports, as a part of the larger: printed sizes are rounded up and
// in other units than usable memory, while neighbouring sizes differ twofold.
const memoryTolerancePercent = 15

// MatchProfile finds the profile of a GPU that a MIG set means, by numbers and
// never by name: the same compute slices and media extensions, and the nearest
// memory within 15 percent. Without memory it is the smallest with these
// compute slices. Of profiles that are alike it takes the plain one, which has
// the lowest enum. It reports false if the GPU offers none.
func MatchProfile(profiles []gpu.Profile, size api.MIGSize) (gpu.Profile, bool) {
	best, found := gpu.Profile{}, false
	for _, p := range profiles {
		if p.ComputeSlices != int(size.ComputeSlices) || p.MediaExtensions != size.MediaExtensions {
			continue
		}
		if !placeable(p) || size.Memory != nil && !near(size.Memory.Value(), p.MemoryBytes) {
			continue
		}
		if !found || better(p, best, size) {
			best, found = p, true
		}
	}
	return best, found
}

// placeable reports whether the driver says where instances of a profile go.
func placeable(p gpu.Profile) bool {
	legal := func(pl gpu.Placement) bool { return pl.Start >= 0 && pl.Size > 0 && pl.Start+pl.Size <= maxSlices }
	return len(p.Placements) > 0 && !slices.ContainsFunc(p.Placements, func(pl gpu.Placement) bool { return !legal(pl) })
}

// maxSlices bounds what a driver can be believed: hardware has 8 memory slices.
const maxSlices = 64

// better reports whether p is a nearer match for size than q.
func better(p, q gpu.Profile, size api.MIGSize) bool {
	var want int64
	if size.Memory != nil {
		want = size.Memory.Value()
	}
	dp, dq := distance(p.MemoryBytes, want), distance(q.MemoryBytes, want)
	if dp != dq {
		return dp < dq
	}
	return p.Enum < q.Enum
}

func near(a, b int64) bool {
	return distance(a, b) <= mulDiv(max(a, b, 0), memoryTolerancePercent, 100)
}

func distance(a, b int64) int64 { return max(a-b, b-a) }

// offered lists what a GPU offers, for the message that refuses something else.
func offered(profiles []gpu.Profile) string {
	var list []string
	for _, p := range profiles {
		if !placeable(p) {
			continue
		}
		me := ""
		if p.MediaExtensions {
			me = " with mediaExtensions"
		}
		list = append(list, fmt.Sprintf("%s (computeSlices %d, memory %s%s)",
			p.Name, p.ComputeSlices, roughly(p.MemoryBytes), me))
	}
	if len(list) == 0 {
		return "nothing"
	}
	return strings.Join(list, ", ")
}

// roughly prints device memory in whole Gi, or exactly when it is less.
func roughly(bytes int64) string {
	if bytes < gibibyte {
		return bytesOf(bytes)
	}
	return fmt.Sprintf("%dGi", (bytes+gibibyte/2)/gibibyte)
}
