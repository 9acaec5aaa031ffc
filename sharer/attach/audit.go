// SPDX-License-Identifier: Apache-2.0

package attach

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"aipub.io/aipub/gpu"
	"aipub.io/aipub/sharer"
)

// Config is how strict an Auditor is. Zero values mean the defaults.
type Config struct {
	// Grace is how long something must be wrong before it is a finding: a process
	// shows up on the GPU shortly before it says Hello. With a sample every 500 ms
	// the default of 1 s finds it 1.5 s after it showed up at the latest.
	Grace time.Duration
	// Tolerance is how much memory of a process may be unaccounted for beyond two
	// contexts: code, and what the driver keeps for itself. Default 512 MiB.
	Tolerance uint64
	// Builds are the libraries' build IDs that are known; none: all are.
	Builds []string
}

func (c Config) withDefaults() Config {
	if c.Grace <= 0 {
		c.Grace = time.Second
	}
	if c.Tolerance == 0 {
		c.Tolerance = 512 << 20
	}
	return c
}

// Auditor compares samples. It is not safe for concurrent use.
type Auditor struct {
	config   Config
	since    map[suspicion]sharer.Instant
	ledgers  map[ledgerKey]ledger
	contexts map[string]*contexts // by GPU
	clocks   map[clockKey]clock
	pages    map[gpu.SliceID]damage
	beyond   map[ledgerKey]sharer.Instant // since when memory is had that nobody granted
	first    sharer.Instant               // when the first sample was
	sampled  bool                         // there was one
}

// suspicion is a finding that may not have lasted long enough.
type suspicion struct {
	reason  Reason
	process ProcessID
	gpu     string
	slice   gpu.SliceID
}

// Report is the answer to a sample.
type Report struct {
	// Findings are ordered by slice, process and reason.
	Findings []Finding
	// Overheads are corrections of the ledgers, to be written into the slots.
	Overheads []Overhead
	// ContextBytes is what one context costs, by GPU, as far as it is known.
	ContextBytes map[string]uint64
}

// New returns an Auditor that has seen nothing.
func New(c Config) *Auditor {
	return &Auditor{
		config:   c.withDefaults(),
		since:    map[suspicion]sharer.Instant{},
		ledgers:  map[ledgerKey]ledger{},
		contexts: map[string]*contexts{},
		clocks:   map[clockKey]clock{},
	}
}

// Observe takes a sample in. What is wrong in it and has been in all samples for
// the grace is found. Samples come in the order of their time.
func (a *Auditor) Observe(s Sample) Report {
	if !a.sampled {
		a.first, a.sampled = s.At, true
	}
	r := Report{Overheads: a.reconcile(s), ContextBytes: a.contextBytes()}
	ix := newIndex(s)
	a.noteBeyond(ix)
	var found []Finding
	for _, p := range s.OnGPU {
		found = append(found, a.judge(ix, p)...)
	}
	found = append(found, overMemory(ix)...)
	found = append(found, a.unaccountedTime(ix)...)
	found = append(found, a.damaged(ix)...)

	since := map[suspicion]sharer.Instant{}
	for _, f := range found {
		key := suspicion{f.Reason, f.Process, f.GPU, f.Slice}
		first, seen := a.since[key]
		if !seen {
			first = s.At
		}
		if _, twice := since[key]; twice {
			continue
		}
		since[key] = first
		if f.Since = first; s.At.Sub(first) >= a.config.Grace {
			r.Findings = append(r.Findings, f)
		}
	}
	a.since = since
	slices.SortFunc(r.Findings, func(x, y Finding) int {
		return cmp.Or(cmp.Compare(x.Slice, y.Slice), cmp.Compare(x.Process.PID, y.Process.PID), cmp.Compare(x.Reason, y.Reason), cmp.Compare(x.GPU, y.GPU))
	})
	return r
}

// index is a sample by what is looked up in it.
type index struct {
	Sample
	slices   map[gpu.SliceID]Slice
	attached map[ProcessID][]Attached
}

func newIndex(s Sample) index {
	ix := index{Sample: s, slices: map[gpu.SliceID]Slice{}, attached: map[ProcessID][]Attached{}}
	for _, sl := range s.Slices {
		ix.slices[sl.ID] = sl
	}
	for _, at := range s.Attached {
		ix.attached[at.Process] = append(ix.attached[at.Process], at)
	}
	return ix
}

// judge says what is wrong with one process on one GPU.
func (a *Auditor) judge(ix index, p OnGPU) []Finding {
	find := func(reason Reason, slice gpu.SliceID, detail string) Finding {
		f := Finding{Reason: reason, Slice: slice, GPU: p.GPU, Process: p.Process, Container: p.Container}
		f.Message = message(f, detail)
		return f
	}
	place := ix.place(p)
	switch place.verdict {
	case isForeign:
		return []Finding{find(Foreign, "", "")}
	case isElsewhere:
		return []Finding{find(WrongSlice, place.slice, "where its container holds no slice")}
	case isIntruder:
		return []Finding{find(WrongSlice, place.slice, fmt.Sprintf("attached to slice %s of another container", place.slice))}
	case isLoose:
		detail := ""
		if p.Unequipped {
			detail = unequipped
		}
		return []Finding{find(NotAttached, place.slice, detail)}
	case isFine:
	}
	var found []Finding
	at := place.attached
	if ix.slices[at.Slice].Damage > 0 {
		return nil // what it says of itself may be anybody's
	}
	if len(a.config.Builds) > 0 && !slices.Contains(a.config.Builds, at.BuildID) {
		found = append(found, find(StaleBuild, at.Slice, at.BuildID))
	}
	if at.Ungated {
		found = append(found, find(Ungated, at.Slice, ""))
	}
	if detail := a.unaccountedMemory(ix, p); detail != "" {
		f := find(UnaccountedMemory, at.Slice, detail)
		f.Unsure = !a.memoryIsTaken(ix, p)
		found = append(found, f)
	}
	return found
}

// verdict is where a process stands.
type verdict int

const (
	isFine      verdict = iota // attached to a slice of its container on this GPU
	isForeign                  // its container holds no slice
	isElsewhere                // its container holds slices, of other GPUs
	isIntruder                 // attached to a slice that another container holds
	isLoose                    // not attached to the slice that its container holds here
)

type place struct {
	verdict  verdict
	slice    gpu.SliceID
	attached Attached
}

func (ix index) place(p OnGPU) place {
	var intruder gpu.SliceID
	for _, at := range ix.attached[p.Process] {
		sl, known := ix.slices[at.Slice]
		switch {
		case !known || sl.GPU != p.GPU:
		case sl.held(p.Container) || sl.Holder == Container{} || p.Container == Container{}:
			// The socket is mounted into one container only, so being attached is as
			// good a proof as the holder's name.
			return place{isFine, sl.ID, at}
		default:
			intruder = sl.ID
		}
	}
	if intruder != "" {
		return place{verdict: isIntruder, slice: intruder}
	}
	var elsewhere gpu.SliceID
	for _, sl := range ix.Slices {
		if !sl.held(p.Container) {
			continue
		}
		if sl.GPU == p.GPU {
			return place{verdict: isLoose, slice: sl.ID}
		}
		elsewhere = sl.ID
	}
	if elsewhere != "" {
		return place{verdict: isElsewhere, slice: elsewhere}
	}
	return place{verdict: isForeign}
}
