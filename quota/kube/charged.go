// SPDX-License-Identifier: Apache-2.0

package kube

// Charged counts the pods that are charged for each set, by its name; false while not
// all of them are known. On the replica that leads it is exact: what is about to be
// opened counts.
func (w *Watch) Charged() (map[string]int64, bool) {
	if !w.Synced() {
		return nil, false
	}
	w.model.mu.Lock()
	defer w.model.mu.Unlock()
	out := map[string]int64{}
	for _, e := range w.model.pods {
		if !e.charged() || e.Ended {
			continue
		}
		for set := range e.Claim.Sets {
			out[set]++
		}
	}
	return out, true
}
