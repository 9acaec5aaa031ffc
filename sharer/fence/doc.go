// SPDX-License-Identifier: Apache-2.0

// Package fence finds and uses what the kernel and the driver have to keep
// containers within their share of a GPU, outside of the containers. The
// preloaded library (sharer/shim) is quick and friendly, and a program that wants
// past it gets past it; an outer fence holds that program too.
//
// # Device memory: the dmem controller
//
// Linux 6.14 and later can limit device memory by cgroup (version 2, controller
// dmem, Documentation/admin-guide/cgroup-v2.rst). The root's file dmem.capacity
// lists the regions that drivers registered, with their sizes:
//
//	drm/0000:03:00.0/vram0 8514437120
//
// and each cgroup has a dmem.max with a limit for each region. A GPU's regions are
// those with its PCI address anywhere in their name. Which name NVIDIA's driver
// gives its region, and from which version on it has one, has not been seen by
// the authors: everything here was tested with files, nothing on such a driver.
//
// Plan says which limits there should be, Cgroups writes them. A container's own
// cgroup gets the sum of its slices of a GPU. It is written when the container's
// first process attaches, and again for its next life, since that has another
// cgroup. The limit goes with the cgroup; nothing lifts it before, so it holds
// while the agent is away.
//
// # MPS
//
// Under NVIDIA's multi-process service the clients' kernels run at the same time
// instead of in turns. The service is found by its server's process on a GPU; it
// is never started here.
package fence
