// SPDX-License-Identifier: Apache-2.0

// Package driver finds on the node what a container needs of the GPU driver:
// libraries, control devices, and the device nodes of one GPU or MIG instance.
//
// The files come from the NVIDIA container toolkit's discovery (nvcdi) where it
// works, else from a plain look at the driver's library directories. Device
// nodes are found by this package itself and are always checked to exist: a spec
// that names a missing node would keep every container of the slice from
// starting. nvcdi may add to them, such as the DRM nodes of a GPU; it cannot
// replace them, because it looks for MIG capabilities only below the real /proc.
//
// Two views of the host's paths are kept apart: where the agent sees a file
// (below Root, DevRoot), and where the container runtime will look for it
// (below HostRoot, HostDevRoot).
package driver
