// SPDX-License-Identifier: Apache-2.0

package cdi

import (
	"strings"

	"tags.cncf.io/container-device-interface/pkg/parser"

	"aipub.io/aipub/gpu"
)

const (
	// DriverFile is the name of the driver's spec file.
	DriverFile = "aipub.io-driver.json"

	// The kinds are aipub.io/set and aipub.io/driver.
	vendor        = "aipub.io"
	setClass      = "set"
	driverClass   = "driver"
	driverDevice  = "all"
	setFilePrefix = "aipub.io-set-"
	fileSuffix    = ".json"
)

// Name is the CDI device of a slice.
func Name(id gpu.SliceID) string { return parser.QualifiedName(vendor, setClass, string(id)) }

// DriverName is the CDI device that carries the driver's files.
func DriverName() string { return parser.QualifiedName(vendor, driverClass, driverDevice) }

// Names are the CDI devices that a container with this slice is given.
func Names(s gpu.Slice) []string {
	if len(s.GPUs) == 0 {
		return []string{Name(s.ID)}
	}
	return []string{DriverName(), Name(s.ID)}
}

// FileName is the spec file of a slice.
func FileName(id gpu.SliceID) string { return setFilePrefix + string(id) + fileSuffix }

// SliceOf is the inverse of FileName; false for a file that is none of ours.
func SliceOf(file string) (gpu.SliceID, bool) {
	id, ok := strings.CutPrefix(file, setFilePrefix)
	if !ok {
		return "", false
	}
	id, ok = strings.CutSuffix(id, fileSuffix)
	return gpu.SliceID(id), ok && id != ""
}
