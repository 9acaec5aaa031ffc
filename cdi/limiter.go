// SPDX-License-Identifier: Apache-2.0

package cdi

import (
	"path"

	"tags.cncf.io/container-device-interface/specs-go"

	"aipub.io/aipub/gpu"
)

// Where a container with a block slice finds the limiter's pieces. The library
// reads the same places (sharer/wire/wire.h).
const (
	// LimiterSlices has a folder for each block slice of the container.
	LimiterSlices = "/run/aipub/slices"
	// LimiterLibrary is the library that is loaded into every process.
	LimiterLibrary = "/run/aipub/libaipub.so"
	// PreloadFile is the dynamic loader's list of such libraries.
	PreloadFile = "/etc/ld.so.preload"

	hookCreateContainer = "createContainer"
	limiterPage         = "page"
)

// Limiter is where the pieces of the limiter lie on the host. The zero value
// means that there is none, and block slices are not limited.
type Limiter struct {
	// Slices has a folder for each block slice, which holds the files grant,
	// page and socket.
	Slices string
	// Library is the file to preload. It is never written to again: an upgrade
	// brings another file.
	Library string
	// Hook is aipub-cdi-hook and Work a folder for its files.
	Hook, Work string
	// PreloadList is a file with the line LimiterLibrary. It stands in for the
	// hook where the runtime has no hooks, and hides a list of the image's own.
	PreloadList string
}

// Edits are what a container with a block slice gets beside the hardware: its
// folder, read-only but for the page, and the library. Other slices have none.
func (l Limiter) Edits(s gpu.Slice) specs.ContainerEdits {
	if l.Library == "" || s.Block == nil {
		return specs.ContainerEdits{}
	}
	bind := func(from, to, access string) *specs.Mount {
		return &specs.Mount{HostPath: from, ContainerPath: to, Options: []string{access, "nosuid", "nodev", "rbind", "rprivate"}}
	}
	host, inside := path.Join(l.Slices, string(s.ID)), path.Join(LimiterSlices, string(s.ID))
	edits := specs.ContainerEdits{Mounts: []*specs.Mount{
		bind(host, inside, "ro"),
		bind(path.Join(host, limiterPage), path.Join(inside, limiterPage), "rw"),
		bind(l.Library, LimiterLibrary, "ro"),
	}}
	if l.Hook == "" {
		edits.Mounts = append(edits.Mounts, bind(l.PreloadList, PreloadFile, "ro"))
		return edits
	}
	edits.Hooks = []*specs.Hook{{
		HookName: hookCreateContainer,
		Path:     l.Hook,
		Args:     []string{path.Base(l.Hook), "preload", "--library=" + LimiterLibrary, "--work-dir=" + l.Work},
	}}
	return edits
}
