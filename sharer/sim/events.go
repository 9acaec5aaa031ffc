// SPDX-License-Identifier: Apache-2.0

package sim

import "aipub.io/aipub/sharer"

// event is something that happens at a moment: the completion of the oldest
// command of a process, or do.
type event struct {
	at      sharer.Instant
	order   uint64 // of events at the same moment
	process *process
	do      func()
}

func (e event) before(x event) bool {
	return e.at < x.at || e.at == x.at && e.order < x.order
}

// events is a binary heap, earliest first. It is not container/heap because there
// are millions of events a second, and boxing each costs more than the model.
type events []event

func (h *events) push(e event) {
	*h = append(*h, e)
	all := *h
	i := len(all) - 1
	for i > 0 && e.before(all[(i-1)/2]) {
		all[i] = all[(i-1)/2]
		i = (i - 1) / 2
	}
	all[i] = e
}

func (h *events) pop() event {
	all := *h
	first, last := all[0], all[len(all)-1]
	all[len(all)-1] = event{}
	all = all[:len(all)-1]
	*h = all
	i := 0
	for {
		child := 2*i + 1
		if child >= len(all) {
			break
		}
		if child+1 < len(all) && all[child+1].before(all[child]) {
			child++
		}
		if !all[child].before(last) {
			break
		}
		all[i] = all[child]
		i = child
	}
	if len(all) > 0 {
		all[i] = last
	}
	return first
}
