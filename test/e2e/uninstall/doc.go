// SPDX-License-Identifier: Apache-2.0

// Package uninstall shows on the real node that the product leaves as it came.
// Its one test takes six minutes, because the kubelet holds on to the resources
// of a plugin that is gone for five; `make e2e-uninstall` runs it.
package uninstall
