// SPDX-License-Identifier: Apache-2.0

package fence

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Region is device memory that the kernel can limit.
type Region struct {
	Name  string
	Bytes uint64 // its size
}

// ParseRegions reads a dmem.capacity: a line "NAME BYTES" for each region.
func ParseRegions(capacity string) ([]Region, error) {
	var all []Region
	for line := range strings.Lines(capacity) {
		fields := strings.Fields(line)
		if len(fields) == 0 {
			continue
		}
		if len(fields) != 2 {
			return nil, fmt.Errorf("parse region %q: want a name and a size", strings.TrimSpace(line))
		}
		bytes, err := strconv.ParseUint(fields[1], 10, 64)
		if err != nil {
			return nil, fmt.Errorf("parse region %s: %w", fields[0], err)
		}
		all = append(all, Region{Name: fields[0], Bytes: bytes})
	}
	return all, nil
}

// Of lists the regions of the GPU at a PCI address, such as NVML's
// "00000000:3B:00.0" or the kernel's "0000:3b:00.0".
func Of(regions []Region, pciBusID string) []Region {
	gpu, ok := addressIn(pciBusID)
	if !ok {
		return nil
	}
	var own []Region
	for _, r := range regions {
		if a, ok := addressIn(r.Name); ok && a == gpu {
			own = append(own, r)
		}
	}
	return own
}

// address is a place on the PCI bus.
type address struct{ domain, bus, device, function uint64 }

// NVML writes the domain with eight digits, the kernel with at least four.
var pciAddress = regexp.MustCompile(`([0-9a-fA-F]{4,8}):([0-9a-fA-F]{2}):([0-9a-fA-F]{2})\.([0-7])`)

// addressIn finds the PCI address in a name.
func addressIn(name string) (address, bool) {
	m := pciAddress.FindStringSubmatch(name)
	if m == nil {
		return address{}, false
	}
	var n [4]uint64
	for i := range n {
		n[i], _ = strconv.ParseUint(m[i+1], 16, 64) // hex digits, by the pattern
	}
	return address{n[0], n[1], n[2], n[3]}, true
}
