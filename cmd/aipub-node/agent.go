// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/go-logr/logr"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/gpu"
	"aipub.io/aipub/gpu/nvml"
	"aipub.io/aipub/node"
	"aipub.io/aipub/node/host"
	"aipub.io/aipub/node/kube"
	"aipub.io/aipub/partitioner"
)

// agent joins the stages: it makes the node what the cluster wants of it. Only
// one apply runs at a time; everything else may be called from anywhere.
type agent struct {
	log      logr.Logger
	options  options
	state    *node.State
	hardware *hardware
	metrics  *metrics
	memory   *memory
	specs    *specs
	bootID   string
	changed  func() // tells the publisher that there is something to say

	mu   sync.Mutex
	told told
}

// told is what the last apply found, for the NodePartition.
type told struct {
	desired   kube.Desired
	inventory nvml.Inventory
	gpus      []gpu.GPU
	numa      []host.NUMANode
	policy    *api.PartitionPolicy
	report    partitioner.Report
	reason    string
	message   string
}

// apply makes the node what d says, as far as what is held allows. It returns
// an error when trying again without a change can help.
func (a *agent) apply(ctx context.Context, d kube.Desired) error {
	t := told{desired: d}
	err := a.try(ctx, d, &t)
	if err != nil {
		t.reason, t.message = reasonOf(err), sentence(err)
	}
	a.metrics.applies.WithLabelValues(t.reason).Inc()
	a.tell(t)
	a.memory.save(a.record())
	var step *partitioner.StepError
	if errors.As(err, &step) && step.Reason == api.ReasonWaitingForIdle {
		return nil // the end of a holder asks for the next attempt
	}
	return err
}

func (a *agent) try(ctx context.Context, d kube.Desired, t *told) error {
	driver, inv, err := a.hardware.read(ctx)
	if err != nil {
		return err
	}
	t.inventory = inv
	t.gpus = a.withSilent(inv)
	if t.numa, err = host.NUMANodes(a.options.sys); err != nil {
		return err
	}
	if err := a.specs.open(ctx, driver, inv.DriverVersion); err != nil {
		return err
	}
	target, pending := a.plan(d, t)
	next, waiting := partitioner.Transition(a.state.Layout(), target, held(a.state.Snapshot()))
	if err := a.carryOut(ctx, driver, t.gpus, next); err != nil {
		return err
	}
	t.reason, t.message = outcome(t, pending, waiting)
	return nil
}

// withSilent adds to the GPUs that answered those that did once and are silent
// now: a GPU that is not heard is not a GPU that is gone.
func (a *agent) withSilent(inv nvml.Inventory) []gpu.GPU {
	gpus := slices.Clone(inv.GPUs)
	for _, f := range inv.Failed {
		a.log.Info("GPU does not answer", "index", f.Index, "uuid", f.UUID, "cause", f.Err.Error())
		for _, known := range a.gpus() {
			if f.UUID != "" && known.UUID == f.UUID {
				gpus = append(gpus, known)
			}
		}
	}
	slices.SortFunc(gpus, func(x, y gpu.GPU) int { return x.Index - y.Index })
	return gpus
}

// gpus are the GPUs as last known.
func (a *agent) gpus() []gpu.GPU {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.told.gpus
}

// plan is the layout that the governing policy wants here. pending names the
// sets whose size the controller has not written yet.
func (a *agent) plan(d kube.Desired, t *told) (layout gpu.Layout, pending []string) {
	t.policy, _ = partitioner.Govern(d.Policies, d.Labels)
	if t.policy == nil {
		return gpu.Layout{}, nil
	}
	var sets []partitioner.Set
	for _, template := range t.policy.Spec.Sets {
		i := slices.IndexFunc(d.Sets, func(s api.ResourceSet) bool {
			return s.Name == template.Name && slices.Contains(s.Spec.Policies, t.policy.Name)
		})
		if i < 0 {
			pending = append(pending, template.Name)
			continue
		}
		sets = append(sets, partitioner.SetOf(template.Name, d.Sets[i].Spec))
	}
	layout, t.report = partitioner.Plan(a.capacity(d, t), t.policy.Spec, sets)
	return layout, pending
}

func (a *agent) capacity(d kube.Desired, t *told) partitioner.Node {
	n := partitioner.Node{Name: a.options.node, CPUMilli: d.CPUMilli, MemoryBytes: d.MemoryBytes, GPUs: t.gpus}
	for _, z := range t.numa {
		n.NUMA = append(n.NUMA, partitioner.NUMANode{ID: z.ID, CPUs: z.CPUs, MemoryBytes: z.MemoryBytes})
	}
	return n
}

// outcome is the typed reason and the sentence for an apply without error.
func outcome(t *told, pending []string, waiting []partitioner.Waiting) (reason, message string) {
	switch {
	case t.policy == nil:
		return api.ReasonNoPolicy, "no PartitionPolicy selects this node; label it, or change a policy's nodeSelector"
	case len(waiting) > 0:
		return api.ReasonWaitingForIdle, waitingMessage(waiting)
	case len(t.report.Rejections) > 0:
		r := t.report.Rejections[0]
		return r.Reason, r.Message
	case len(pending) > 0:
		return api.ReasonPending, fmt.Sprintf("waiting for the controller to size %s (kubectl get partitionpolicy %s says more)", strings.Join(pending, ", "), t.policy.Name)
	}
	return api.ReasonApplied, "the node is divided as the policy says"
}

func waitingMessage(waiting []partitioner.Waiting) string {
	var parts []string
	for _, w := range waiting {
		ids := make([]string, len(w.Held))
		for i, id := range w.Held {
			ids[i] = string(id)
		}
		parts = append(parts, fmt.Sprintf("GPU %s until %s ends", w.GPU, strings.Join(ids, ", ")))
	}
	return "keeps its present cut: " + strings.Join(parts, "; ")
}

// reasonOf is the typed reason of an error.
func reasonOf(err error) string {
	var step *partitioner.StepError
	if errors.As(err, &step) {
		return step.Reason
	}
	return api.ReasonHardware
}

// sentence is an error in one line: the first of several, and how many more.
func sentence(err error) string {
	lines := strings.Split(err.Error(), "\n")
	if len(lines) == 1 {
		return lines[0]
	}
	return fmt.Sprintf("%s (and %d more)", lines[0], len(lines)-1)
}

func (a *agent) tell(t told) {
	a.mu.Lock()
	if t.gpus == nil {
		t.gpus, t.inventory, t.numa = a.told.gpus, a.told.inventory, a.told.numa
	}
	changed := t.reason != a.told.reason || t.message != a.told.message
	a.told = t
	a.mu.Unlock()
	if changed {
		a.log.Info("partition", "reason", t.reason, "message", t.message)
	}
	a.changed()
}

// last is what the last apply found.
func (a *agent) last() told {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.told
}

// waits reports whether the node would change if something that is held ended.
func (a *agent) waits() bool { return a.last().reason == api.ReasonWaitingForIdle }

// health takes over news about the hardware.
func (a *agent) health(e nvml.Event, poke func()) {
	switch e.Kind {
	case nvml.HealthChanged:
		a.log.Info("health", "gpu", e.GPU, "gi", e.GIID, "ci", e.CIID, "ok", e.Health.OK, "reason", e.Health.Reason, "message", e.Health.Message)
		a.state.SetHealth(e.GPU, e.GIID, e.CIID, e.Health)
	case nvml.MIGChanged:
		a.hardware.forget()
		poke()
	}
}

// held are the slices that somebody has.
func held(s gpu.Snapshot) map[gpu.SliceID]bool {
	ids := map[gpu.SliceID]bool{}
	for _, st := range s.Slices {
		if st.State == gpu.StateHeld || st.State == gpu.StateRetired {
			ids[st.Slice.ID] = true
		}
	}
	return ids
}
