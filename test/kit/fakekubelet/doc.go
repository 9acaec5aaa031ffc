// SPDX-License-Identifier: Apache-2.0

// Package fakekubelet is the kubelet's device manager for fast tests and fault
// tests: registration, device lists, allocation in the kubelet's own order of
// choice, the checkpoint, and PodResources. It runs no containers.
//
// It copies the behaviour of Kubernetes 1.37 that plugins suffer from:
//
//   - At its start it removes every socket in its directory, and knows no
//     healthy device until plugins have registered again.
//   - A pod whose devices are recorded but not healthy is refused for good,
//     unless its container was found running.
//   - Devices are freed only when the next one is asked for or listed; no plugin
//     is told.
//   - A plugin that has gone has no allocatable devices at once, and no capacity
//     after five minutes.
//   - A second registration of a socket path that it is still connected to is
//     refused, and it then never notices the end of that connection.
//   - A list above 4 MiB ends the connection.
package fakekubelet
