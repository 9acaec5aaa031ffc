// SPDX-License-Identifier: Apache-2.0

package partitioner

import (
	"fmt"
	"slices"
	"strings"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/gpu"
)

// StepKind is what one step does.
type StepKind string

const (
	// EnableMIG turns the MIG mode of a GPU on.
	EnableMIG StepKind = "EnableMIG"
	// DisableMIG turns it off; the GPU has no instances then.
	DisableMIG StepKind = "DisableMIG"
	// DestroyInstance removes Step.Instance, its compute instance first.
	DestroyInstance StepKind = "DestroyInstance"
	// CreateInstance makes a GPU instance of Step.Profile at Step.Placement with
	// one compute instance that fills it.
	CreateInstance StepKind = "CreateInstance"
)

// Step is one change of a GPU's partitioning.
type Step struct {
	Kind StepKind
	// GPU is the UUID of the GPU.
	GPU string
	// Profile and Placement are set for CreateInstance.
	Profile   gpu.Profile
	Placement gpu.Placement
	// Instance is set for DestroyInstance.
	Instance gpu.Instance
}

// StepError says why a GPU cannot be brought to its target now.
type StepError struct {
	// Reason is api.ReasonWaitingForIdle, where it helps to wait, or
	// api.ReasonHardware.
	Reason string
	// GPU is the UUID of the GPU.
	GPU string
	// Holding are the UUIDs of the instances, or of the GPU itself, whose use is
	// in the way.
	Holding []string
	// Message is a sentence for people.
	Message string
}

// Error implements error.
func (e *StepError) Error() string { return e.Message }

// Steps says how to bring a GPU from its current instances to a target: what is
// to be destroyed, then the change of mode, then what is to be created. An empty
// target means MIG mode off.
//
// An instance of the target that exists already is adopted: there is no step for
// it, and its holder is not disturbed. A half-made one (without compute
// instance) nobody can use, so it is destroyed and made anew. Others are
// destroyed if nothing on the GPU is busy; if something is, they stay as long as
// they are not in the way of what must be created.
//
// busy names what is in use: instances by UUID, and the GPU by its own for
// processes outside of any instance. A busy one in the way is a *StepError with
// reason WaitingForIdle, and no steps.
//
// Preconditions: the instances and the target are of this GPU.
func Steps(g gpu.GPU, current []gpu.Instance, target []gpu.MIGTarget, busy map[string]bool) ([]Step, error) {
	if g.MIG == nil {
		if len(target) == 0 {
			return nil, nil
		}
		return nil, &StepError{Reason: api.ReasonHardware, GPU: g.UUID,
			Message: fmt.Sprintf("GPU %s (%s) has no MIG and cannot be cut into instances", g.UUID, g.Model)}
	}
	c := compare(current, target)
	toggle := g.MIG.Enabled != (len(target) > 0)
	holding := busyOf(g, current, busy)
	destroy := c.halfMade
	if len(holding) == 0 {
		destroy = append(destroy, c.foreign...)
	} else if blocked := toggle || c.inTheWay(g); blocked {
		return nil, waitFor(g, holding)
	}
	var steps []Step
	for _, in := range destroy {
		steps = append(steps, Step{Kind: DestroyInstance, GPU: g.UUID, Instance: in})
	}
	if toggle {
		kind := DisableMIG
		if len(target) > 0 {
			kind = EnableMIG
		}
		steps = append(steps, Step{Kind: kind, GPU: g.UUID})
	}
	for _, t := range c.missing {
		steps = append(steps, Step{Kind: CreateInstance, GPU: g.UUID, Profile: t.Profile, Placement: t.Placement})
	}
	return steps, nil
}

// comparison is how a GPU's instances differ from its target.
type comparison struct {
	adopted, halfMade, foreign []gpu.Instance
	missing                    []gpu.MIGTarget
}

// compare finds the instance of each target.
func compare(current []gpu.Instance, target []gpu.MIGTarget) comparison {
	var c comparison
	adopted := make([]bool, len(current))
	for _, t := range target {
		i := slices.IndexFunc(current, func(in gpu.Instance) bool {
			return in.CIID >= 0 && in.ProfileID == t.Profile.ID && in.Placement == t.Placement
		})
		if i < 0 || adopted[i] {
			c.missing = append(c.missing, t)
			continue
		}
		adopted[i] = true
	}
	for i, in := range current {
		switch {
		case adopted[i]:
			c.adopted = append(c.adopted, in)
		case in.CIID < 0:
			c.halfMade = append(c.halfMade, in)
		default:
			c.foreign = append(c.foreign, in)
		}
	}
	return c
}

// inTheWay reports whether the foreign instances leave too little room for what
// must be created: they overlap it, or together they have too many compute
// slices.
func (c comparison) inTheWay(g gpu.GPU) bool {
	if len(c.foreign) == 0 {
		return false
	}
	compute := 0
	for _, in := range slices.Concat(c.adopted, c.foreign) {
		compute += computeOf(g, in)
	}
	for _, t := range c.missing {
		compute += t.Profile.ComputeSlices
		overlaps := func(in gpu.Instance) bool { return in.Placement.Overlaps(t.Placement) }
		if slices.ContainsFunc(c.foreign, overlaps) {
			return true
		}
	}
	return len(c.missing) > 0 && compute > boardOf(g.MIG.Profiles).compute
}

// computeOf is the number of compute slices of an instance.
func computeOf(g gpu.GPU, in gpu.Instance) int {
	i := slices.IndexFunc(g.MIG.Profiles, func(p gpu.Profile) bool { return p.ID == in.ProfileID })
	if i < 0 {
		return 0
	}
	return g.MIG.Profiles[i].ComputeSlices
}

// busyOf are the names of what is in use on the GPU, in order.
func busyOf(g gpu.GPU, current []gpu.Instance, busy map[string]bool) []string {
	var names []string
	if busy[g.UUID] {
		names = append(names, g.UUID)
	}
	for _, in := range current {
		if in.UUID != "" && busy[in.UUID] {
			names = append(names, in.UUID)
		}
	}
	return names
}

func waitFor(g gpu.GPU, holding []string) *StepError {
	return &StepError{Reason: api.ReasonWaitingForIdle, GPU: g.UUID, Holding: holding,
		Message: fmt.Sprintf("GPU %s must be idle to be cut anew; in use: %s; end the pods that hold it, or wait",
			g.UUID, strings.Join(holding, ", "))}
}
