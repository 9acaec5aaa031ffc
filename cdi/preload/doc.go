// SPDX-License-Identifier: Apache-2.0

// Package preload puts a library into a container's /etc/ld.so.preload before
// the container starts, without changing the image: it binds a file over it that
// has what the image's own list has, and the library in front. A container
// runtime runs it as a createContainer hook, in the container's mount namespace
// but before the container's root is the root, so everything below the
// container's root is somebody else's and is opened without leaving that root.
package preload
