// SPDX-License-Identifier: Apache-2.0

// Package deviceplugin is what the node's slices look like through the
// kubelet's device plugin API, version v1beta1: which device IDs a resource
// has and how healthy they are, which of them to prefer, and what the API does
// not allow. It decides on a snapshot and does no I/O.
package deviceplugin
