// SPDX-License-Identifier: Apache-2.0

package nvml

import "fmt"

// xidClass says what an Xid means for the hardware.
type xidClass int

const (
	// xidUnknown: nothing is known; the driver's recovery action decides.
	xidUnknown xidClass = iota
	// xidApplication: a program did something wrong; the hardware is fine.
	xidApplication
	// xidIgnored, xidCritical: the operator's word.
	xidIgnored
	xidCritical
)

// applicationXids are raised by faulty programs. Source: NVIDIA's Xid catalogue
// ("user app" as the likely cause).
var applicationXids = map[uint64]string{
	13:  "graphics engine exception",
	31:  "GPU memory page fault",
	43:  "GPU stopped processing",
	45:  "preemptive clean-up after an earlier error",
	68:  "video processor exception",
	109: "context switch timeout",
}

// hardwareXids only give names to frequent errors of the hardware. Source as
// above.
var hardwareXids = map[uint64]string{
	48:  "double-bit ECC error",
	63:  "row remapping recorded",
	64:  "row remapping failed",
	74:  "NVLink error",
	79:  "GPU has fallen off the bus",
	92:  "high rate of single-bit ECC errors",
	94:  "contained memory error",
	95:  "uncontained memory error",
	119: "GSP firmware does not answer",
	120: "GSP firmware error",
	140: "unrecovered ECC error",
}

// xidRules are the operator's overrides.
type xidRules struct {
	ignore, critical map[uint64]bool
}

// classify tells the class of an Xid. The operator's ignore list comes first,
// then the critical list, then the catalogue.
func (r xidRules) classify(xid uint64) xidClass {
	switch {
	case r.ignore[xid]:
		return xidIgnored
	case r.critical[xid]:
		return xidCritical
	case applicationXids[xid] != "":
		return xidApplication
	}
	return xidUnknown
}

// xidText names an Xid for people.
func xidText(xid uint64) string {
	name := hardwareXids[xid]
	if name == "" {
		name = applicationXids[xid]
	}
	if name == "" {
		return fmt.Sprintf("Xid %d", xid)
	}
	return fmt.Sprintf("Xid %d (%s)", xid, name)
}
