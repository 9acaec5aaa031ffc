// SPDX-License-Identifier: Apache-2.0

package nvml

// MemoryLimits reports whether the driver has calls of its own that limit a
// cgroup's device memory (r615 and later). They are looked for and not used: their
// structures are not in the headers that this was written against.
func (d *Driver) MemoryLimits() bool {
	return d.has("nvmlDeviceSetMemoryLimits_v1") && d.has("nvmlDeviceGetMemoryLimits_v1")
}
