// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	api "aipub.io/aipub/api/v1alpha1"
)

// notBoundWords say why policies do not bind one of another kind.
func notBoundWords(b *bound) string {
	if owner := metav1.GetControllerOfNoCopy(b.object); owner != nil {
		return fmt.Sprintf("it belongs to %s %s, which is what you pause", owner.Kind, owner.Name)
	}
	kind := b.object.GetAnnotations()[api.TypeAnnotation]
	if kind == "" {
		return fmt.Sprintf("it has no type, so its namespace is in no project, or was in none when it was made; annotate it with %s=%s", api.TypeAnnotation, api.TypeWorkspace)
	}
	return fmt.Sprintf("it is of type %s, and only Workspaces are paused", kind)
}

func boundTable(all []*bound, now time.Time) *metav1.Table {
	t := columns("Namespace", "Name", "+Kind", "User", "Set", "Phase", "Since", "Held", "Until", "+At", "Why", "Activity", "+Node")
	for _, b := range all {
		since := ""
		if b.Since != nil {
			since = age(*b.Since, now)
		}
		addRow(t, b.Namespace, b.ref.typed(), b.Kind, b.User, setWords(b.Sets), b.Phase, since, b.heldWords(),
			b.untilWords(now), b.dueWords(), b.whyWords(), b.activityWords(now), b.Node)
	}
	return t
}

func (b *bound) heldWords() string {
	if b.HeldSeconds == 0 {
		return ""
	}
	return duration.HumanDuration(time.Duration(b.HeldSeconds) * time.Second)
}

// untilWords are how long it may still hold its set: "in 3h", or "due".
func (b *bound) untilWords(now time.Time) string {
	switch {
	case b.Occupancy == nil || b.Occupancy.ExpiresAt == nil:
		return ""
	case !b.Occupancy.ExpiresAt.After(now):
		return "due"
	}
	return "in " + duration.HumanDuration(b.Occupancy.ExpiresAt.Sub(now))
}

// dueWords are until when it may hold its set.
func (b *bound) dueWords() string {
	if b.Occupancy == nil || b.Occupancy.ExpiresAt == nil {
		return ""
	}
	return timeWords(*b.Occupancy.ExpiresAt)
}

// timeWords are a time as it stands in tables and sentences.
func timeWords(t metav1.Time) string { return t.UTC().Format("2006-01-02 15:04Z") }

// whyWords are why it is paused, why it waits, or what sets its deadline.
func (b *bound) whyWords() string {
	switch o := b.Occupancy; {
	case b.Pause != nil && (b.isPaused() || b.Reason == "" || b.Phase == string(api.PhaseSaving)):
		return byWords(b.Pause.Reason, b.Pause.By)
	case b.Reason != "":
		return b.Reason
	case o != nil:
		return byWords(o.Reason, o.Policy)
	}
	return ""
}

// byWords are a reason with the policy or the person behind it.
func byWords(reason, by string) string {
	if by == "" {
		return reason
	}
	return fmt.Sprintf("%s (%s)", reason, by)
}

// activityWords say whether it works: "active", "idle 3h" or "unknown".
func (b *bound) activityWords(now time.Time) string {
	if !b.holds() {
		return ""
	}
	switch b.Occupancy.Signal {
	case api.SignalActive:
		return "active"
	case api.SignalIdle:
		return "idle " + duration.HumanDuration(b.idleFor(now))
	case api.SignalUnknown:
		return "unknown"
	}
	return ""
}

// boundDoc is what is bound, and what of it is ghost occupancy: sets that are held and
// that nobody uses. Its JSON form is for scripts.
type boundDoc struct {
	APIVersion string   `json:"apiVersion"`
	Kind       string   `json:"kind"`
	Items      []*bound `json:"items"`
	// Holding is how many hold sets, Idle how many of those are idle, and IdleSeconds
	// for how long they have been, in all.
	Holding     int   `json:"holding"`
	Idle        int   `json:"idle"`
	IdleSeconds int64 `json:"idleSeconds"`
}

func newBoundDoc(all []*bound, now time.Time) *boundDoc {
	d := &boundDoc{APIVersion: planVersion, Kind: "Workspaces", Items: all}
	if all == nil {
		d.Items = []*bound{}
	}
	for _, b := range all {
		if b.holds() {
			d.Holding++
		}
		if b.holds() && b.Occupancy.Signal == api.SignalIdle {
			d.Idle++
			d.IdleSeconds += int64(b.idleFor(now).Seconds())
		}
	}
	return d
}

// ghostWords are the sentence below the table.
func (d *boundDoc) ghostWords() string {
	hold := fmt.Sprintf("%d hold their sets", d.Holding)
	switch d.Holding {
	case 0:
		return "none holds a set"
	case 1:
		hold = "1 holds its set"
	}
	if d.Idle == 0 {
		return hold + "; none is known to be idle"
	}
	verb := "are"
	if d.Idle == 1 {
		verb = "is"
	}
	return fmt.Sprintf("%s; %d of them %s idle, for %.1f hours in all (ghost occupancy)", hold, d.Idle, verb, float64(d.IdleSeconds)/3600)
}
