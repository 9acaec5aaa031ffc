// SPDX-License-Identifier: Apache-2.0

package attach

import (
	"fmt"
	"strings"
	"time"

	"aipub.io/aipub/gpu"
	"aipub.io/aipub/sharer"
)

// damageTime is for how long a page counts as damaged that was found so.
const damageTime = time.Minute

// damage is how often a slice's page was found damaged, and when last.
type damage struct {
	content, access uint64 // times
	at              sharer.Instant
}

// damaged finds slices whose container writes over what it shares with the agent,
// lets it grow, or locks its own next processes out. A process that is killed leaves no damage, so it is on purpose
// or a program that has lost its way.
func (a *Auditor) damaged(ix index) []Finding {
	pages := map[gpu.SliceID]damage{}
	var found []Finding
	for _, sl := range ix.Slices {
		if sl.Damage == 0 && sl.Locked == 0 {
			continue
		}
		d := a.pages[sl.ID]
		if d.content != sl.Damage || d.access != sl.Locked {
			d = damage{sl.Damage, sl.Locked, ix.At}
		}
		pages[sl.ID] = d
		if ix.At.Sub(d.at) < damageTime {
			f := Finding{Reason: DamagedPage, Slice: sl.ID, GPU: sl.GPU, Container: sl.Holder}
			f.Message = message(f, d.deeds(sl.ID))
			found = append(found, f)
		}
	}
	a.pages = pages
	return found
}

// deeds says what the container has done.
func (d damage) deeds(id gpu.SliceID) string {
	var all []string
	if d.content > 0 {
		all = append(all, fmt.Sprintf("damaged what the page of slice %s says, or the length of its file, %s", id, times(d.content)))
	}
	if d.access > 0 {
		all = append(all, fmt.Sprintf("changed the mode or the owner of the page of slice %s %s, so that its next process could not attach", id, times(d.access)))
	}
	return strings.Join(all, ", and ")
}

func times(n uint64) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}
