// SPDX-License-Identifier: Apache-2.0

package node_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"aipub.io/aipub/gpu"
	"aipub.io/aipub/node"
	"aipub.io/aipub/test/kit"
)

// model is the plainest account of what a State should hold: a kubelet that
// gives IDs to pods, and the set of IDs that the node believes to be held.
type model struct {
	t       *testing.T
	state   *node.State
	now     time.Time
	layouts []gpu.Layout
	layout  gpu.Layout
	bad     map[string]bool // GPUs

	kubelet map[gpu.SliceID]string // the kubelet's records: who has what
	held    map[gpu.SliceID]gpu.Slice
	claimed map[gpu.SliceID]uint64 // mark before which the claim is newer
	pods    int
	applied uint64
	waiting []gpu.Observation // begun, not delivered yet
	version uint64
}

func newModel(t *testing.T) *model {
	m := &model{
		t: t, now: time.Unix(1_800_000_000, 0), bad: map[string]bool{},
		kubelet: map[gpu.SliceID]string{}, held: map[gpu.SliceID]gpu.Slice{}, claimed: map[gpu.SliceID]uint64{},
		layouts: []gpu.Layout{
			kit.MakeLayout(3).Block("small", 25).Block("medium", 50).Whole("large", 1).CPU("cpu", 4, 3).Obj(),
			kit.MakeLayout(3).Block("medium", 50).Whole("large", 1).Whole("pair", 2).Obj(),
			kit.MakeLayout(3).Block("small", 20).Block("odd", 30).CPU("cpu", 4, 2).Obj(),
		},
	}
	// Without pauses the outcome depends on what was listed alone.
	m.state = node.New(node.Config{Now: func() time.Time { return m.now }, Grace: 1, Settle: 1})
	m.setLayout(0)
	return m
}

func (m *model) setLayout(i int) {
	m.layout = m.layouts[i]
	m.state.SetLayout(m.layout)
}

// definition is the slice as it counts now: as it was given away, or as planned.
func (m *model) definition(id gpu.SliceID) (gpu.Slice, bool) {
	if s, ok := m.held[id]; ok {
		return s, true
	}
	return m.layout.Find(id)
}

func (m *model) healthy(s gpu.Slice) bool {
	return !slices.ContainsFunc(s.GPUs, func(uuid string) bool { return m.bad[uuid] })
}

// expect says whether a claim should succeed. A counter that held slices exceed
// in the new layout has nothing left.
func (m *model) expect(id gpu.SliceID) bool {
	s, ok := m.definition(id)
	if !ok || !m.healthy(s) {
		return false
	}
	if _, held := m.held[id]; held {
		_, planned := m.layout.Find(id)
		return planned
	}
	used := map[gpu.Counter]int64{}
	for _, h := range m.held {
		for _, u := range h.Uses {
			if _, ok := m.layout.Totals[u.Counter]; !ok {
				for _, uuid := range s.GPUs {
					if slices.Contains(h.GPUs, uuid) {
						return false
					}
				}
			}
			used[u.Counter] += u.Amount
		}
	}
	for _, u := range s.Uses {
		if used[u.Counter]+u.Amount > m.layout.Totals[u.Counter] {
			return false
		}
	}
	return true
}

// allocate lets the kubelet give away an ID that it knows to be its own.
func (m *model) allocate(pick int) {
	ids := m.ids()
	id := ids[pick%len(ids)]
	if _, taken := m.kubelet[id]; taken {
		return
	}
	s, _ := m.definition(id)
	if _, retired := m.held[id]; retired {
		if _, planned := m.layout.Find(id); !planned {
			return // refused or not, depending on whether its holder was seen
		}
	}
	err := m.state.Claim(s.Set, []gpu.SliceID{id})
	if want := m.expect(id); (err == nil) != want {
		m.t.Fatalf("claim %s: %v, want success %v", id, err, want)
	}
	if err != nil {
		if fail, ok := errors.AsType[*node.ClaimError](err); !ok || fail.Slice != id {
			m.t.Fatalf("claim %s: %v", id, err)
		}
		return
	}
	m.pods++
	m.kubelet[id] = fmt.Sprintf("pod-%d", m.pods)
	m.held[id] = s
	m.claimed[id] = m.state.Mark()
}

func (m *model) ids() []gpu.SliceID {
	ids := slices.Sorted(maps.Keys(m.held))
	for _, s := range m.layout.Slices {
		ids = append(ids, s.ID)
	}
	return ids
}

func (m *model) end(pick int) {
	ids := slices.Sorted(maps.Keys(m.kubelet))
	if len(ids) > 0 {
		delete(m.kubelet, ids[pick%len(ids)])
	}
}

// begin asks the kubelet; the answer is delivered some time later.
func (m *model) begin() {
	o := gpu.Observation{Mark: m.state.Mark(), PodsKnown: true}
	for id, pod := range m.kubelet {
		o.Holdings = append(o.Holdings, holds(pod, m.held[id].Set, id))
		o.Pods = append(o.Pods, gpu.Pod{Namespace: "team", Name: pod})
	}
	m.waiting = append(m.waiting, o)
}

// deliver hands over one of the answers, in any order.
func (m *model) deliver(pick int) {
	if len(m.waiting) == 0 {
		return
	}
	i := pick % len(m.waiting)
	o := m.waiting[i]
	m.waiting = slices.Delete(m.waiting, i, i+1)
	m.state.Observe(o)
	if o.Mark < m.applied {
		return
	}
	m.applied = o.Mark
	listed := map[gpu.SliceID]bool{}
	for _, h := range o.Holdings {
		listed[h.Slices[0]] = true
	}
	for id := range m.held {
		if m.claimed[id] < o.Mark && !listed[id] {
			delete(m.held, id)
		}
	}
}

func (m *model) sicken(pick int) {
	uuid := kit.UUID(pick % 3)
	m.bad[uuid] = !m.bad[uuid]
	m.state.SetHealth(uuid, node.Whole, node.Whole, gpu.Health{OK: !m.bad[uuid], Reason: "XidCritical"})
}

func (m *model) check() {
	m.t.Helper()
	s := m.state.Snapshot()
	if s.Version < m.version {
		m.t.Fatalf("version went from %d back to %d", m.version, s.Version)
	}
	m.version = s.Version
	got := map[gpu.SliceID]bool{}
	for _, st := range s.Slices {
		if st.State == gpu.StateHeld || st.State == gpu.StateRetired {
			got[st.Slice.ID] = true
		}
		if st.State == gpu.StateFree && !m.expect(st.Slice.ID) {
			m.t.Fatalf("slice %s is free, but a claim should fail", st.Slice.ID)
		}
	}
	want := map[gpu.SliceID]bool{}
	for id := range m.held {
		want[id] = true
	}
	if diff := cmp.Diff(want, got); diff != "" {
		m.t.Fatalf("held (-model +state):\n%s", diff)
	}
	if err := node.Invariants(s); err != nil && !m.shrunk() {
		m.t.Fatal(err)
	}
}

// shrunk reports whether a layout has taken from a counter what was held of it.
func (m *model) shrunk() bool {
	for _, left := range m.state.Snapshot().Left {
		if left < 0 {
			return true
		}
	}
	return false
}

// run carries out one step for each pair of bytes.
func (m *model) run(script []byte) {
	for i := 0; i+1 < len(script); i += 2 {
		m.now = m.now.Add(time.Second)
		pick := int(script[i+1])
		switch op := script[i] % 16; {
		case op < 7:
			m.allocate(pick)
		case op < 9:
			m.end(pick)
		case op < 11:
			m.begin()
		case op < 14:
			m.deliver(pick)
		case op < 15:
			m.sicken(pick)
		default:
			m.setLayout(pick % len(m.layouts))
		}
		m.check()
	}
	m.begin()
	m.waiting = m.waiting[len(m.waiting)-1:]
	m.now = m.now.Add(time.Hour)
	m.deliver(0)
	m.check()
	if len(m.held) != len(m.kubelet) {
		m.t.Fatalf("at the end %d slices are held, the kubelet has given away %d", len(m.held), len(m.kubelet))
	}
}

func TestRandomLivesAgreeWithTheModel(t *testing.T) {
	for seed := range uint64(60) {
		script := make([]byte, 300)
		r := rand.New(rand.NewPCG(seed, 1))
		for i := range script {
			script[i] = byte(r.Uint32())
		}
		newModel(t).run(script)
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

func FuzzState(f *testing.F) {
	f.Add([]byte{0, 1, 0, 2, 9, 0, 12, 0, 15, 1, 7, 0, 9, 0, 12, 0})
	f.Add([]byte{0, 0, 15, 2, 14, 0, 0, 3, 10, 0, 7, 0, 13, 0})
	f.Fuzz(func(t *testing.T, script []byte) {
		if len(script) > 2000 {
			t.Skip("too long to be worth it")
		}
		newModel(t).run(script)
	})
}
