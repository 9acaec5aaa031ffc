// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"time"

	"aipub.io/aipub/gpu"
	"aipub.io/aipub/sharer/attach"
	loan "aipub.io/aipub/sharer/memory"
	"aipub.io/aipub/sharer/socket"
	"aipub.io/aipub/sharer/wire"
)

// memoryEvery is how often device memory is looked at while some of it may be on
// loan, and comingTime how long an owner goes on waiting that is told that memory
// is being given back.
const (
	memoryEvery = 50 * time.Millisecond
	comingTime  = time.Second
)

// loans lends device memory beyond guarantees, and takes it back.
type loans struct {
	agent   *agent
	pods    func() ([]gpu.Pod, bool)
	ladders map[string]*loan.Ladder // by GPU
	parking *parking
	probed  bool
}

// lendMemory lends device memory until ctx ends. Without a slice that may borrow
// it sleeps.
func (a *agent) lendMemory(ctx context.Context, pods func() ([]gpu.Pod, bool)) {
	if a.sharing == nil {
		return
	}
	l := &loans{agent: a, pods: pods, ladders: map[string]*loan.Ladder{}, parking: openParking(a.options, a.log)}
	changed, stop := a.state.Watch()
	defer stop()
	ticker := time.NewTicker(memoryEvery)
	defer ticker.Stop()
	for {
		tick := ticker.C
		if !mayBorrow(a.state.Snapshot()) && l.parking.empty() {
			tick = nil
		}
		select {
		case <-ctx.Done():
			return
		case <-changed:
			continue // look again whether there is anybody to look at
		case <-tick:
			l.look(ctx)
		}
	}
}

// mayBorrow reports whether a slice is held that may borrow loan.
func mayBorrow(snap gpu.Snapshot) bool {
	for _, st := range snap.Slices {
		b := st.Slice.Block
		if b != nil && b.MaxMemoryBytes > b.MemoryBytes && (st.State == gpu.StateHeld || st.State == gpu.StateRetired) {
			return true
		}
	}
	return false
}

// look observes each GPU once and does what its ladder says.
func (l *loans) look(ctx context.Context) {
	if !l.probed && l.agent.hardware.opened() != nil {
		l.probed = true
		go l.parking.probe(ctx, l.agent.options)
	}
	view := l.agent.sharing.server.View()
	l.parking.follow()
	allowed := map[gpu.SliceID]socket.Allowance{}
	var actions []loan.Action
	for _, g := range l.agent.gpus() {
		plan := l.observe(g, view)
		for _, lim := range plan.Limits {
			allowed[lim.Slice] = socket.Allowance{MemoryBytes: lim.Bytes, Reclaim: asked(lim.Step)}
		}
		for _, id := range plan.Coming {
			now := allowed[id]
			// Rounded, so that it is news now and then only.
			now.Coming = view.At.Add(2*comingTime) / 1e9 * 1e9
			allowed[id] = now
		}
		actions = append(actions, plan.Actions...)
	}
	l.agent.forgetClimbs(view)
	for _, v := range view.Slices {
		if v.Retired {
			delete(allowed, v.ID)
		}
	}
	if err := l.agent.sharing.allow(allowed); err != nil {
		l.agent.log.V(1).Info("change what slices may allocate", "cause", err.Error())
	}
	for _, act := range actions {
		l.do(ctx, act, view)
	}
}

// observe asks a GPU's ladder. GPUs without slices have none.
func (l *loans) observe(g gpu.GPU, view socket.View) loan.Plan {
	s := loan.Sample{At: view.At, Usable: uint64(g.MemoryBytes), CanCheckpoint: l.parking.works()}
	if p := l.agent.last().policy; p != nil && p.Spec.MemoryGraceSeconds != nil {
		s.Grace = time.Duration(*p.Spec.MemoryGraceSeconds) * time.Second
	}
	for _, v := range view.Slices {
		if v.GPU != g.UUID {
			continue
		}
		sl := loan.Slice{
			ID: v.ID, Guaranteed: v.GuaranteedBytes, Max: v.MaxMemoryBytes, Used: min(v.Memory.Committed+v.Memory.Overhead, s.Usable),
			Wanted: min(v.ShortBytes, s.Usable), Residence: l.parking.residence(v.ID),
		}
		if v.Retired {
			sl.Guaranteed, sl.Max, sl.Wanted = 0, 0, 0
		}
		s.Slices = append(s.Slices, sl)
	}
	if len(s.Slices) == 0 {
		delete(l.ladders, g.UUID)
		return loan.Plan{}
	}
	if l.ladders[g.UUID] == nil {
		l.ladders[g.UUID] = loan.New(l.agent.pace.loans)
	}
	return l.ladders[g.UUID].Observe(s)
}

// asked is a step as processes hear it. They need not know of the hard ones.
func asked(s loan.Step) wire.Reclaim {
	switch s {
	case loan.None:
		return wire.ReclaimNone
	case loan.Refuse:
		return wire.ReclaimRefuse
	case loan.Trim:
		return wire.ReclaimTrim
	default:
		return wire.ReclaimDemote
	}
}

// do carries out an action, and tells everybody.
func (l *loans) do(ctx context.Context, act loan.Action, view socket.View) {
	l.tell(act)
	switch act.Kind {
	case loan.Refused, loan.Trimmed, loan.Demoted, loan.Released: // done with the limit
	case loan.Checkpointed:
		l.parking.park(ctx, act.Slice, processesOf(view, act.Slice))
	case loan.Restored:
		l.parking.restore(ctx, act.Slice)
	case loan.Ended:
		for _, p := range processesOf(view, act.Slice) {
			if err := kill(l.agent.options.pids, p); err != nil {
				l.agent.log.Error(err, "kill process", "slice", act.Slice, "pid", p.PID)
			}
		}
	}
}

// processesOf are those of a slice, as the kernel knows them.
func processesOf(view socket.View, id gpu.SliceID) []attach.ProcessID {
	var all []attach.ProcessID
	for _, p := range view.Processes() {
		if p.Slice == id {
			all = append(all, attach.ProcessID{PID: p.HostPID, Start: p.StartTime})
		}
	}
	return all
}
