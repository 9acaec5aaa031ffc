// SPDX-License-Identifier: Apache-2.0

// Package containerd saves containers of the kubelet through containerd's own API: it
// finds a container, runs a command in it, measures what it has written, commits that as
// an image, and brings the image to a registry.
//
// An image made here has exactly one layer over the image that its container descends
// from, however often it was saved: the label [BaseLayersLabel] in its configuration says
// how many layers are that base. The layer holds all that differs from the base, and so
// also secrets that were written into the file system; it does not hold what lies on
// volumes, whether the pod's or those that an image declares. Of files that are mounted
// into the container only the empty places to mount on are saved.
//
// The container is frozen while its file system is read, so that the image is one
// moment of it. What was begun is under a lease that names the container; [Client.Recover]
// thaws it and drops what is half done when the process that began it is gone. A frozen
// container answers no probe: with a liveness probe that gives up sooner than the layer is
// written, the kubelet restarts it and what was to be saved is lost.
//
// A container in a user namespace cannot be saved: its files would come back with other
// owners.
package containerd
