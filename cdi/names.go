// SPDX-License-Identifier: Apache-2.0

package cdi

import (
	"strings"

	"tags.cncf.io/container-device-interface/pkg/parser"

	"aipub.io/aipub/gpu"
)

const (
	// Vendor and the classes make the kinds aipub.io/set and aipub.io/driver.
	Vendor      = "aipub.io"
	SetClass    = "set"
	DriverClass = "driver"

	// DriverFile is the name of the driver's spec file; set files begin with
	// SetFilePrefix and end with FileSuffix.
	DriverFile    = "aipub.io-driver.json"
	SetFilePrefix = "aipub.io-set-"
	FileSuffix    = ".json"

	driverDevice = "all"
)

// Name is the CDI device of a slice.
func Name(id gpu.SliceID) string { return parser.QualifiedName(Vendor, SetClass, string(id)) }

// DriverName is the CDI device that carries the driver's files.
func DriverName() string { return parser.QualifiedName(Vendor, DriverClass, driverDevice) }

// Names are the CDI devices that a container with this slice is given.
func Names(s gpu.Slice) []string {
	if len(s.GPUs) == 0 {
		return []string{Name(s.ID)}
	}
	return []string{DriverName(), Name(s.ID)}
}

// FileName is the spec file of a slice.
func FileName(id gpu.SliceID) string { return SetFilePrefix + string(id) + FileSuffix }

// SliceOf is the inverse of FileName; false for a file that is none of ours.
func SliceOf(file string) (gpu.SliceID, bool) {
	id, ok := strings.CutPrefix(file, SetFilePrefix)
	if !ok {
		return "", false
	}
	id, ok = strings.CutSuffix(id, FileSuffix)
	return gpu.SliceID(id), ok && id != ""
}
