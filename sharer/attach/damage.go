// SPDX-License-Identifier: Apache-2.0

package attach

import (
	"fmt"
	"time"

	"aipub.io/aipub/gpu"
	"aipub.io/aipub/sharer"
)

// damageTime is for how long a page counts as damaged that was found so.
const damageTime = time.Minute

// damage is how often a slice's page was found damaged, and when last.
type damage struct {
	times uint64
	at    sharer.Instant
}

// damaged finds slices whose container writes over what it shares with the agent,
// or lets it grow. A process that is killed leaves no damage, so it is on purpose
// or a program that has lost its way.
func (a *Auditor) damaged(ix index) []Finding {
	pages := map[gpu.SliceID]damage{}
	var found []Finding
	for _, sl := range ix.Slices {
		if sl.Damage == 0 {
			continue
		}
		d := a.pages[sl.ID]
		if d.times != sl.Damage {
			d = damage{sl.Damage, ix.At}
		}
		pages[sl.ID] = d
		if ix.At.Sub(d.at) < damageTime {
			f := Finding{Reason: DamagedPage, Slice: sl.ID, GPU: sl.GPU, Container: sl.Holder}
			f.Message = message(f, fmt.Sprint(sl.Damage))
			found = append(found, f)
		}
	}
	a.pages = pages
	return found
}
