// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/gpu"
)

// gpuWords says what the GPU part of a set is.
func gpuWords(g *api.SetGPU) string {
	switch {
	case g == nil:
		return "none"
	case g.MIG != nil:
		return migWords(*g.MIG)
	case g.BlockPercent != nil && g.Memory != nil:
		return fmt.Sprintf("%d%% of a GPU, %s", *g.BlockPercent, g.Memory)
	case g.BlockPercent != nil:
		return fmt.Sprintf("%d%% of a GPU", *g.BlockPercent)
	case g.Count != nil && *g.Count != 1:
		return fmt.Sprintf("%d whole GPUs", *g.Count)
	}
	return "1 whole GPU"
}

func migWords(m api.MIGSize) string {
	s := "MIG " + plural(int(m.ComputeSlices), "slice")
	if m.Memory != nil {
		s += ", " + m.Memory.String()
	}
	if m.MediaExtensions {
		s += ", media"
	}
	return s
}

// sliceWords says what one slice is: 25%, 1g.18gb@3, whole, 2 GPUs or CPU.
func sliceWords(s api.NodeSlice) string {
	switch {
	case s.MIG != nil:
		return fmt.Sprintf("%s@%d", s.MIG.Profile, s.MIG.Start)
	case s.BlockPercent > 0 && s.BlockMemory != nil:
		return fmt.Sprintf("%d%% %s", s.BlockPercent, memory(s.BlockMemory.Value()))
	case s.BlockPercent > 0:
		return fmt.Sprintf("%d%%", s.BlockPercent)
	case len(s.GPUs) == 0:
		return "CPU"
	case len(s.GPUs) == 1:
		return "whole"
	}
	return fmt.Sprintf("%d GPUs", len(s.GPUs))
}

// numaWords is a NUMA node's number, or "unknown".
func numaWords(n *int32) string {
	if n == nil || *n < 0 {
		return "unknown"
	}
	return strconv.Itoa(int(*n))
}

// healthWords is OK, or the typed reason for not being so.
func healthWords(h api.Health) string {
	switch {
	case h.OK:
		return "OK"
	case h.Reason != "":
		return h.Reason
	}
	return "Unhealthy"
}

// modeWords is how a GPU is cut, with what the hardware still has to do.
func modeWords(g api.NodeGPU) string {
	if g.Mode == "" {
		return "-"
	}
	if g.MIGEnabled != g.MIGPending {
		return string(g.Mode) + " (needs reset)"
	}
	return string(g.Mode)
}

// cpu prints thousandths of a core as users write them.
func cpu(milli int64) string {
	return resource.NewMilliQuantity(milli, resource.DecimalSI).String()
}

// memory prints bytes for reading: in the largest unit that leaves at least 1,
// rounded to a tenth below 100. What must be exact is printed as a quantity
// instead.
func memory(bytes int64) string {
	units := []string{"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"}
	sign := ""
	if bytes < 0 {
		sign, bytes = "-", -bytes
	}
	v, u := float64(bytes), 0
	for v >= 1024 && u < len(units)-1 {
		v, u = v/1024, u+1
	}
	if v < 99.95 && u > 0 {
		return sign + strings.TrimSuffix(strconv.FormatFloat(v, 'f', 1, 64), ".0") + units[u]
	}
	return sign + strconv.FormatFloat(v, 'f', 0, 64) + units[u]
}

// cpuOf and memoryOf print a quantity for reading; "-" when it is not given.
func cpuOf(q *resource.Quantity) string {
	if q == nil {
		return "-"
	}
	return cpu(q.MilliValue())
}

func memoryOf(q *resource.Quantity) string {
	if q == nil {
		return "-"
	}
	return memory(q.Value())
}

// ranges joins numbers as people write them: 0-3,6.
func ranges(numbers []int) string {
	sorted := slices.Compact(slices.Sorted(slices.Values(numbers)))
	var parts []string
	for i := 0; i < len(sorted); {
		j := i
		for j+1 < len(sorted) && sorted[j+1] == sorted[j]+1 {
			j++
		}
		switch j {
		case i:
			parts = append(parts, strconv.Itoa(sorted[i]))
		case i + 1:
			parts = append(parts, strconv.Itoa(sorted[i]), strconv.Itoa(sorted[j]))
		default:
			parts = append(parts, fmt.Sprintf("%d-%d", sorted[i], sorted[j]))
		}
		i = j + 1
	}
	return strings.Join(parts, ",")
}

// plural is "1 node", "2 nodes".
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

// holderWords names a container as namespace/pod/container.
func holderWords(h *api.Holder) string {
	if h == nil {
		return ""
	}
	s := h.Namespace + "/" + h.Pod
	if h.Container != "" {
		s += "/" + h.Container
	}
	return s
}

// isHeld reports whether a container holds the slice.
func isHeld(s api.NodeSlice) bool {
	return s.State == api.SliceState(gpu.StateHeld) || s.State == api.SliceState(gpu.StateRetired)
}
