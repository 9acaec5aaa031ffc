// SPDX-License-Identifier: Apache-2.0

// Package kubelet speaks to the kubelet: it serves the node's sets as device
// plugins (API v1beta1) and asks who holds what (PodResources v1).
//
// # One server for each set
//
// A Manager compares what should be served with what is, and repairs the
// difference: a set came or went, kubelet.sock is another one than the one
// registered with, the server's own socket was deleted, the kubelet's stream
// ended for good. It looks whenever the directory or the node's state changes,
// and every few seconds besides, so a lost notification only costs time.
//
// Each server gets a socket path that was never used before. The kubelet
// refuses a registration while it still knows the path ("device plugin already
// connected"), and after such a refusal never notices that the plugin at this
// path is gone. With a new path the new server is connected first and the old
// one stopped afterwards, so the resource never disappears.
//
// # Locks
//
// Manager.mu guards the tables; an endpoint's own mutex its streams. Neither is
// held during a call to the outside, and no goroutine holds both.
package kubelet
