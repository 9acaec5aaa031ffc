// SPDX-License-Identifier: Apache-2.0

package node

import (
	"fmt"
	"strings"

	"aipub.io/aipub/gpu"
)

// Reason says why a claim was refused. It is also the metric label.
type Reason string

const (
	// ReasonUnknown means that the node has no such slice.
	ReasonUnknown Reason = "Unknown"
	// ReasonWrongSet means that the slice belongs to another set.
	ReasonWrongSet Reason = "WrongSet"
	// ReasonUnhealthy means that its hardware must not be handed out.
	ReasonUnhealthy Reason = "Unhealthy"
	// ReasonPreparing means that its MIG instance does not exist.
	ReasonPreparing Reason = "Preparing"
	// ReasonRetired means that the layout no longer has it.
	ReasonRetired Reason = "Retired"
	// ReasonOverlap means that what others hold leaves too little. The scheduler
	// counts each set by itself, so two sizes can race for the same GPU.
	ReasonOverlap Reason = "Overlap"
)

// Overlap is a held slice that draws on a counter that is short.
type Overlap struct {
	Slice  gpu.SliceID
	Set    string
	Holder gpu.Holder // zero while it is not known
	Amount int64
}

// ClaimError says which slice could not be claimed, and why.
type ClaimError struct {
	Set   string
	Slice gpu.SliceID
	// Reason is always set; the other fields belong to one reason each.
	Reason Reason
	// OtherSet is the set that the slice belongs to (ReasonWrongSet).
	OtherSet string
	// Health of the hardware (ReasonUnhealthy).
	Health gpu.Health
	// Counter is short: Left of it remains, Needed is asked, Overlaps hold the
	// rest (ReasonOverlap).
	Counter      gpu.Counter
	Left, Needed int64
	Overlaps     []Overlap
}

// MetricLabel is the reason as a metric label.
func (e *ClaimError) MetricLabel() string { return string(e.Reason) }

// Error says what happened and what to do.
func (e *ClaimError) Error() string {
	return fmt.Sprintf("claim slice %s for %s: %s", e.Slice, gpu.ResourceName(e.Set), e.detail())
}

func (e *ClaimError) detail() string {
	switch e.Reason {
	case ReasonUnknown:
		return "this node has no such slice; create the pod again"
	case ReasonWrongSet:
		return "the slice belongs to " + gpu.ResourceName(e.OtherSet)
	case ReasonUnhealthy:
		return fmt.Sprintf("its hardware is not fit for use (%s: %s); create the pod again to get another slice",
			e.Health.Reason, strings.TrimSuffix(e.Health.Message, "."))
	case ReasonPreparing:
		return "its MIG instance does not exist yet; create the pod again in a moment"
	case ReasonRetired:
		return "the node's partition no longer has it; create the pod again"
	case ReasonOverlap:
		return e.overlapDetail()
	}
	return string(e.Reason)
}

func (e *ClaimError) overlapDetail() string {
	var b strings.Builder
	fmt.Fprintf(&b, "it overlaps slices that others hold: %d of %s needed, %d left", e.Needed, e.Counter, e.Left)
	const most = 4
	for i, o := range e.Overlaps {
		if i == most {
			fmt.Fprintf(&b, "; and %d more", len(e.Overlaps)-most)
			break
		}
		who := "a container that is just starting"
		if !o.Holder.IsZero() {
			who = fmt.Sprintf("%s/%s (%s)", o.Holder.Namespace, o.Holder.Pod, o.Holder.Container)
		}
		fmt.Fprintf(&b, "; %s of set %s is held by %s", o.Slice, o.Set, who)
	}
	b.WriteString("; two sizes were given away at once: create the pod again, it will be placed by the present counts")
	return b.String()
}
