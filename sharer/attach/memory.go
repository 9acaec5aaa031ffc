// SPDX-License-Identifier: Apache-2.0

package attach

import (
	"fmt"
	"maps"
	"slices"

	"aipub.io/aipub/gpu"
)

// Overhead is what a slot's overhead_bytes should be: what the driver says that
// the process uses beyond what its library counted.
type Overhead struct {
	Slice gpu.SliceID
	Slot  int
	Bytes uint64
}

type ledgerKey struct {
	process ProcessID
	gpu     string
}

// ledger is what two samples must agree on before a slot is corrected: between
// the driver's answer and the slot's reading an allocation may pass.
type ledger struct{ used, committed, overhead uint64 }

// drift is the least difference that is corrected: what the driver rounds a
// small allocation up to.
const drift = 2 << 20

// reconcile compares the ledgers with what the driver says. Where a process has
// several slices on one GPU, the first one's overhead takes up the difference.
func (a *Auditor) reconcile(s Sample) []Overhead {
	ix := newIndex(s)
	now := map[ledgerKey]ledger{}
	var out []Overhead
	for _, p := range s.OnGPU {
		sum, first, pending := ix.ledger(p)
		if p.UsedBytes == 0 || first == nil || pending {
			continue
		}
		key := ledgerKey{p.Process, p.GPU}
		now[key] = sum
		if a.ledgers[key] != sum {
			continue
		}
		a.learn(p.GPU, sum)
		if right, ok := overhead(sum, ix.managed(p)); ok && difference(right, sum.overhead) >= drift {
			rest := sum.overhead - first.OverheadBytes // of its other slices
			out = append(out, Overhead{first.Slice, first.Slot, right - min(right, rest)})
		}
	}
	a.ledgers = now
	return out
}

// overhead is what a process uses beyond its ledger. Managed memory is on the
// GPU in part: below the ledger's sum nothing is known for sure.
func overhead(l ledger, managed uint64) (uint64, bool) {
	if l.used >= l.committed {
		return l.used - l.committed, true
	}
	return 0, managed == 0
}

// ledger sums up what a process says of one GPU. first is nil when it is not
// attached there.
func (ix index) ledger(p OnGPU) (l ledger, first *Attached, pending bool) {
	l.used = p.UsedBytes
	for _, at := range ix.attached[p.Process] {
		if ix.slices[at.Slice].GPU != p.GPU {
			continue
		}
		if first == nil {
			first = &at
		}
		l.committed += at.CommittedBytes
		l.overhead += at.OverheadBytes
		pending = pending || at.PendingBytes != 0
	}
	return l, first, pending
}

func (ix index) managed(p OnGPU) (bytes uint64) {
	for _, at := range ix.attached[p.Process] {
		if ix.slices[at.Slice].GPU == p.GPU {
			bytes += at.ManagedBytes
		}
	}
	return bytes
}

// unaccountedMemory says what of a process's memory nothing explains, or "".
func (a *Auditor) unaccountedMemory(ix index, p OnGPU) string {
	l, first, pending := ix.ledger(p)
	if first == nil || pending || l.used <= l.committed {
		return ""
	}
	allowed := a.config.Tolerance
	if c := a.contexts[p.GPU]; c != nil {
		allowed += 2 * c.least
	}
	if l.used-l.committed <= allowed {
		return ""
	}
	return fmt.Sprintf("%d MiB, of which its library knows %d MiB", l.used>>20, l.committed>>20)
}

// overMemory finds slices whose processes use more than the limit, attached or
// not. Processes of a container with several slices on a GPU are held against
// the sum of them.
func overMemory(ix index) []Finding {
	type account struct {
		used, limit uint64
		most        OnGPU // the process that uses most
	}
	accounts := map[gpu.SliceID]account{}
	for _, p := range ix.OnGPU {
		main := ix.place(p).slice
		sl, ok := ix.slices[main]
		if !ok || sl.GPU != p.GPU {
			continue
		}
		lead, limit := ix.together(sl)
		if limit == 0 {
			continue
		}
		acc := accounts[lead]
		acc.used, acc.limit = acc.used+p.UsedBytes, limit
		if p.UsedBytes > acc.most.UsedBytes {
			acc.most = p
		}
		accounts[lead] = acc
	}
	var found []Finding
	for _, id := range slices.Sorted(maps.Keys(accounts)) {
		if acc := accounts[id]; acc.used > acc.limit {
			sl := ix.slices[id]
			f := Finding{Reason: OverMemory, Slice: id, GPU: sl.GPU, Process: acc.most.Process, Container: sl.Holder}
			f.Message = message(f, fmt.Sprintf("%d MiB, and may use %d MiB,", acc.used>>20, acc.limit>>20))
			found = append(found, f)
		}
	}
	return found
}

// together is the limit of all slices on one GPU with the same holder, 0 if one
// of them has none, and the first of them.
func (ix index) together(one Slice) (lead gpu.SliceID, limit uint64) {
	if one.Holder == (Container{}) {
		return one.ID, one.MemoryBytes
	}
	for _, sl := range ix.Slices {
		if sl.GPU != one.GPU || sl.Holder != one.Holder {
			continue
		}
		if sl.MemoryBytes == 0 {
			return one.ID, 0
		}
		if lead == "" {
			lead = sl.ID
		}
		limit += sl.MemoryBytes
	}
	return lead, limit
}

// contexts is the least that a bare context was seen to cost on a GPU. What a
// process says of itself may only lower it: one that denies what it has allocated
// must not make contexts dear for others. The driver does not say less than one
// costs.
type contexts struct{ least uint64 }

// mostContext is more than a bare context costs on any GPU.
const mostContext = 2 << 30

// learn notes what a process uses that says it has allocated nothing: its context,
// or more.
func (a *Auditor) learn(uuid string, l ledger) {
	if l.committed != 0 || l.used > mostContext {
		return
	}
	if c := a.contexts[uuid]; c == nil || l.used < c.least {
		a.contexts[uuid] = &contexts{least: l.used}
	}
}

func (a *Auditor) contextBytes() map[string]uint64 {
	out := map[string]uint64{}
	for uuid, c := range a.contexts {
		out[uuid] = (c.least + drift - 1) / drift * drift // small differences are no news
	}
	return out
}

func difference(a, b uint64) uint64 { return max(a, b) - min(a, b) }
