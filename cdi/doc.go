// SPDX-License-Identifier: Apache-2.0

// Package cdi says what a container gets with its slice: device nodes, mounts
// and environment, as CDI devices and, for runtimes without CDI, as plain
// values.
//
// Each slice is one CDI device, aipub.io/set=ID, in a spec file of its own, so
// that a change rewrites a few hundred bytes. What all GPU slices share (the
// driver's libraries and control devices) is one more device,
// aipub.io/driver=all, in one file. A container is given both names. The
// kubelet keeps them in its checkpoint and replays them after a restart; so they
// never change, and what they mean is in the file, which is rewritten when the
// MIG instance behind a slice is created anew.
//
// Libraries reach the container in one of two ways. Where the host has the
// nvidia-cdi-hook program, it makes the links and the loader cache inside the
// container. Where it has not, each library is also mounted under the names by
// which programs ask for it (libcuda.so.1) in the directories that the loaders of
// Debian and Red Hat based images search without a cache; LD_LIBRARY_PATH is
// left alone, because an image's own value would be lost.
//
// NVIDIA_VISIBLE_DEVICES=void keeps the nvidia container runtime, where it is
// the default, from adding every GPU.
//
// Package driver finds the files and device nodes, package specdir keeps the
// spec files; this package does no I/O.
package cdi
