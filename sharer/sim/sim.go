// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"math/rand/v2"
	"time"

	"aipub.io/aipub/sharer"
)

// Config are the model's times. A zero field means the default.
type Config struct {
	Arbiter sharer.Config
	// Message is how long word takes between a process and the arbiter, each way,
	// give or take half of it. Default 60 µs.
	Message time.Duration
	// Launch is how long the GPU is idle between a command's end and the next one's
	// start where a process has only one in flight. Default 15 µs.
	Launch time.Duration
	// Switch is how long the GPU is idle when it changes to another tenant's work,
	// three times that if the work before is not done. Default 50 µs.
	Switch time.Duration
	// Misprediction is how far off the predicted end of the work in flight is, at
	// most, in parts of what is left. Default 0.1.
	Misprediction float64
	// Ungated lets everybody launch at any time, and changes cost nothing: what a
	// sharer is compared with.
	Ungated bool
	Seed    uint64
}

// Job is a tenant and what its processes run.
type Job struct {
	sharer.Tenant
	Programs []Program
}

// Sim is one node in virtual time, at instant 0 when new.
type Sim struct {
	config  Config
	arbiter *sharer.Arbiter
	random  *rand.Rand
	now     sharer.Instant
	events  events
	order   uint64
	tick    sharer.Instant // the next Tick, 0 when none is due
	gpus    map[string]*gpu
	tenants map[sharer.TenantID]*tenant
	jobs    []*tenant
	// Observe, when set, sees every answer of the arbiter.
	Observe func(now sharer.Instant, actions []sharer.Action)
}

// New makes a node with these jobs.
func New(c Config, jobs []Job) *Sim {
	if c.Message == 0 {
		c.Message = 60 * time.Microsecond
	}
	if c.Launch == 0 {
		c.Launch = 15 * time.Microsecond
	}
	if c.Switch == 0 {
		c.Switch = 50 * time.Microsecond
	}
	if c.Ungated {
		c.Switch = 0
	}
	if c.Misprediction == 0 {
		c.Misprediction = 0.1
	}
	s := &Sim{
		config: c, arbiter: sharer.New(c.Arbiter), random: rand.New(rand.NewPCG(c.Seed, 1)),
		gpus: map[string]*gpu{}, tenants: map[sharer.TenantID]*tenant{},
	}
	var set []sharer.Tenant
	for _, j := range jobs {
		t := &tenant{sim: s, Tenant: j.Tenant}
		for _, leg := range j.Legs {
			if s.gpus[leg.GPU] == nil {
				s.gpus[leg.GPU] = &gpu{name: leg.GPU}
			}
			t.gpus = append(t.gpus, s.gpus[leg.GPU])
		}
		for _, p := range j.Programs {
			t.processes = append(t.processes, &process{tenant: t, program: p})
		}
		s.tenants[j.ID] = t
		s.jobs = append(s.jobs, t)
		set = append(set, j.Tenant)
	}
	s.tell(func() []sharer.Action { return s.arbiter.Set(s.now, set) })
	for _, t := range s.jobs {
		for _, p := range t.processes {
			s.at(0, p.pump)
		}
	}
	return s
}

// Run lets virtual time pass.
func (s *Sim) Run(d time.Duration) {
	end := s.now.Add(d)
	for len(s.events) > 0 && s.events[0].at <= end {
		e := s.events.pop()
		s.now = e.at
		if e.process != nil {
			e.process.completed()
		} else {
			e.do()
		}
	}
	s.now = end
}

// Now is the virtual time.
func (s *Sim) Now() sharer.Instant { return s.now }

// Arbiter is the one at work.
func (s *Sim) Arbiter() *sharer.Arbiter { return s.arbiter }

// Usage is what a tenant had so far; nil for one that does not exist.
func (s *Sim) Usage(id sharer.TenantID) *Usage {
	if t := s.tenants[id]; t != nil {
		return &t.Usage
	}
	return nil
}

// Update changes the set of tenants in the arbiter, for tenants of this node.
func (s *Sim) Update(set []sharer.Tenant) {
	s.tell(func() []sharer.Action { return s.arbiter.Set(s.now, set) })
}

// Stop stops a tenant's processes, as a debugger does: what is in flight ends, and
// nobody says so.
func (s *Sim) Stop(id sharer.TenantID) { s.tenants[id].stopped = true }

// Continue lets stopped processes go on.
func (s *Sim) Continue(id sharer.TenantID) { s.tenants[id].goOn() }

// Kill ends a tenant's processes at any point of the protocol; the arbiter hears
// of it.
func (s *Sim) Kill(id sharer.TenantID) {
	t := s.tenants[id]
	t.dead = true
	t.say(func(a *sharer.Arbiter, now sharer.Instant) []sharer.Action { return a.Gone(now, id) })
}

// tell gives the arbiter an event and carries out what it answers.
func (s *Sim) tell(event func() []sharer.Action) {
	actions := event()
	if s.Observe != nil {
		s.Observe(s.now, actions)
	}
	for _, x := range actions {
		t := s.tenants[x.Tenant]
		switch x.Do {
		case sharer.Grant:
			s.at(t.down(), func() { t.granted(x) })
		case sharer.Extend:
			// The end stands in shared memory; nobody need be told.
			t.extended(x)
		case sharer.Recall:
			s.at(t.down(), func() { t.recalled(x) })
		}
	}
	if next, ok := s.arbiter.Next(); ok && (s.tick == 0 || next < s.tick) {
		s.tick = next
		s.at(next, func() {
			if s.tick == next {
				s.tick = 0
				s.tell(func() []sharer.Action { return s.arbiter.Tick(s.now) })
			}
		})
	}
}

func (s *Sim) message() time.Duration {
	return time.Duration(float64(s.config.Message) * (0.5 + s.random.Float64()))
}

func (s *Sim) after(d time.Duration, do func()) { s.at(s.now.Add(d), do) }

// at lets something happen at a moment, after what is already to happen then.
func (s *Sim) at(when sharer.Instant, do func()) {
	s.order++
	s.events.push(event{at: max(when, s.now), order: s.order, do: do})
}

// completes lets the process's oldest command be done at a moment.
func (s *Sim) completes(when sharer.Instant, p *process) {
	s.order++
	s.events.push(event{at: when, order: s.order, process: p})
}
