// SPDX-License-Identifier: Apache-2.0

package deviceplugin

import (
	"fmt"
	"regexp"
	"strings"

	"aipub.io/aipub/gpu"
)

// MaxMessageBytes is the largest message that the kubelet accepts from a
// plugin: it keeps the default receive limit of gRPC.
const MaxMessageBytes = 4 << 20

// maxNameLength is the longest a resource name may be after the slash, so that
// "requests." can stand before the whole in a quota.
const maxNameLength = 63

var namePattern = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9_.-]*[A-Za-z0-9])?$`)

// Reason says why a set cannot be served.
type Reason string

const (
	// ReasonName means that the resource name is not one that Kubernetes accepts.
	ReasonName Reason = "InvalidResourceName"
	// ReasonID means that a device ID is too long, malformed or not unique.
	ReasonID Reason = "InvalidDeviceID"
	// ReasonSize means that the device list is larger than the kubelet accepts.
	ReasonSize Reason = "DeviceListTooLarge"
)

// LimitError says which limit of the device plugin API a set exceeds.
type LimitError struct {
	Set    string
	Reason Reason
	// Detail is a sentence with the value, what is allowed and what to do.
	Detail string
}

// Error names the resource and the detail.
func (e *LimitError) Error() string {
	return fmt.Sprintf("advertise %s: %s", gpu.ResourceName(e.Set), e.Detail)
}

// MetricLabel is the reason as a metric label.
func (e *LimitError) MetricLabel() string { return string(e.Reason) }

// Check returns a *LimitError when the set cannot be advertised with these
// devices.
func Check(set string, devs []Device) error {
	fail := func(r Reason, format string, args ...any) error {
		return &LimitError{Set: set, Reason: r, Detail: fmt.Sprintf(format, args...)}
	}
	_, name, _ := strings.Cut(gpu.ResourceName(set), "/")
	if set == "" || len(name) > maxNameLength || !namePattern.MatchString(name) {
		return fail(ReasonName, "the set name %q makes no valid resource name: at most %d letters, digits, '-', '_' and '.' are allowed, and it must end with a letter or digit; rename the set in its PartitionPolicy",
			set, maxNameLength-len(name)+len(set))
	}
	seen := make(map[string]bool, len(devs))
	for _, d := range devs {
		if !validID(d.ID) {
			return fail(ReasonID, "the device ID %q has %d characters; at most %d of a-z, 0-9 and '-' are allowed; give the set a shorter name", d.ID, len(d.ID), gpu.MaxSliceIDLength)
		}
		if seen[d.ID] {
			return fail(ReasonID, "the device ID %q stands there twice", d.ID)
		}
		seen[d.ID] = true
	}
	if n := MessageBytes(devs); n > MaxMessageBytes {
		return fail(ReasonSize, "its list of %d devices is %d bytes long, the kubelet accepts %d; define larger slices, or fewer of them per node (perNode)", len(devs), n, MaxMessageBytes)
	}
	return nil
}

// validID reports whether an ID is one to MaxSliceIDLength of [a-z0-9-].
func validID(id string) bool {
	for i := range len(id) {
		if c := id[i]; c != '-' && (c < '0' || c > '9') && (c < 'a' || c > 'z') {
			return false
		}
	}
	return id != "" && len(id) <= gpu.MaxSliceIDLength
}

// MessageBytes is the length of the ListAndWatchResponse for these devices, in
// protocol buffer encoding.
func MessageBytes(devs []Device) int {
	total := 0
	for _, d := range devs {
		health := len("Unhealthy")
		if d.Healthy {
			health = len("Healthy")
		}
		n := field(len(d.ID)) + field(health)
		if len(d.NUMANodes) > 0 {
			topology := 0
			for _, node := range d.NUMANodes {
				id := 0
				if node != 0 {
					id = 1 + varint(uint64(node))
				}
				topology += field(id)
			}
			n += field(topology)
		}
		total += field(n)
	}
	return total
}

// field is the encoded length of a length-delimited field with a one-byte tag.
func field(n int) int { return 1 + varint(uint64(n)) + n }

func varint(v uint64) int {
	n := 1
	for v >= 0x80 {
		v >>= 7
		n++
	}
	return n
}
