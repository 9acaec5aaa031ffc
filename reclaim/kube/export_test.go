// SPDX-License-Identifier: Apache-2.0

package kube

// Remembered is of how many workloads something is remembered.
func (e *Engine) Remembered() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return max(len(e.held), len(e.told))
}
