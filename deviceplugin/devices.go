// SPDX-License-Identifier: Apache-2.0

package deviceplugin

import (
	"slices"

	"aipub.io/aipub/gpu"
)

// Device is one device ID as the kubelet is told of it.
type Device struct {
	ID string
	// Healthy devices count as allocatable. A held one must stay healthy: the
	// kubelet refuses a pod for good when a device that it has given it is not
	// healthy after a restart.
	Healthy bool
	// NUMANodes the device is near to; nil when unknown. An empty list would
	// be read as "near to none" and refuse pods.
	NUMANodes []int
}

// Devices lists the devices of one set in the snapshot's order, with those that
// are held although the layout no longer has them.
func Devices(s gpu.Snapshot, set string) []Device {
	var devs []Device
	for i := range s.Slices {
		if st := &s.Slices[i]; st.Slice.Set == set {
			devs = append(devs, Device{
				ID:        string(st.Slice.ID),
				Healthy:   st.Available(),
				NUMANodes: numaNodes(st.Slice.NUMANodes),
			})
		}
	}
	return devs
}

// numaNodes drops what is no node number, and returns nil rather than nothing.
func numaNodes(all []int) []int {
	if len(all) > 0 && slices.Min(all) >= 0 {
		return all
	}
	var known []int
	for _, n := range all {
		if n >= 0 {
			known = append(known, n)
		}
	}
	return known
}

// Equal reports whether two device lists say the same.
func Equal(a, b []Device) bool {
	return slices.EqualFunc(a, b, func(x, y Device) bool {
		return x.ID == y.ID && x.Healthy == y.Healthy && slices.Equal(x.NUMANodes, y.NUMANodes)
	})
}

// Sets are the sets to serve, each once, in the snapshot's order: those of the
// layout, and those of which a slice is still held.
func Sets(s gpu.Snapshot) []string {
	var sets []string
	seen := map[string]bool{}
	for i := range s.Slices {
		if set := s.Slices[i].Slice.Set; !seen[set] {
			seen[set] = true
			sets = append(sets, set)
		}
	}
	return sets
}

// Diff says which sets to start and which to stop serving, in the order given.
func Diff(serving, wanted []string) (start, stop []string) {
	for _, w := range wanted {
		if !slices.Contains(serving, w) && !slices.Contains(start, w) {
			start = append(start, w)
		}
	}
	for _, s := range serving {
		if !slices.Contains(wanted, s) {
			stop = append(stop, s)
		}
	}
	return start, stop
}
