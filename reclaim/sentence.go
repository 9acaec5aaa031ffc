// SPDX-License-Identifier: Apache-2.0

package reclaim

import (
	"fmt"
	"strings"
	"time"

	api "aipub.io/aipub/api/v1alpha1"
)

// Workload is how a workload is called: Workspace, StatefulSet, Notebook, and its name.
type Workload struct{ Kind, Namespace, Name string }

// String is Kind namespace/name.
func (w Workload) String() string { return fmt.Sprintf("%s %s/%s", w.Kind, w.Namespace, w.Name) }

// warning tells its user what will happen, why, and what to do.
func (w Workload) warning(s settled, r Rules, o api.Occupancy, now time.Time) string {
	when := "now"
	if left := s.At.Sub(now); left > 0 {
		when = fmt.Sprintf("at %s (in %s)", clockTime(s.At), length(left))
	}
	return fmt.Sprintf("%s will be paused %s: %s%s. %s", w, when, r.because(s.Deadline, o, s.since), after(s.PutOff), w.advice(s.Deadline, r, o))
}

// PauseReason says why something is paused, in a sentence without an end. The
// occupancy is that of the moment.
func PauseReason(d Deadline, r Rules, o api.Occupancy) string {
	return r.because(d, o, time.Time{})
}

func (r Rules) because(d Deadline, o api.Occupancy, since time.Time) string {
	if d.Reason == api.ReasonIdle {
		seen := o.Evidence
		if !since.IsZero() {
			seen = "nothing used it since " + clockTime(since)
		}
		return fmt.Sprintf("%s, and what nobody uses for %s is paused (policy %s)", seen, length(r.Idle.After), d.Policy)
	}
	more := ""
	if added := extended(o); added > 0 {
		more = " and " + length(seconds(added)) + " that were added"
	}
	return fmt.Sprintf("it may hold its set for %s%s (policy %s)", length(r.Limit), more, d.Policy)
}

func after(putOff string) string {
	switch putOff {
	case api.ReasonQuietHours:
		return ", put off to the end of quiet hours"
	case api.ReasonGrace:
		return ", put off so that you are told before"
	}
	return ""
}

// usualExtension is what is proposed, where the policy allows as much.
const usualExtension = 8 * time.Hour

// advice is what its user can do. The annotation of other kinds has the time added in
// all, so what was added before counts in it.
func (w Workload) advice(d Deadline, r Rules, o api.Occupancy) string {
	added := seconds(extended(o))
	more := min(usualExtension, r.Extension-added).Truncate(time.Minute)
	how := ""
	switch {
	case more <= 0 && d.Reason == api.ReasonIdle:
		return "Use it, or save your work."
	case more <= 0:
		return "Save your work; more time is for an administrator to give."
	case w.Kind == "Workspace":
		how = fmt.Sprintf("kubectl aipub workspace extend -n %s %s --for %s", w.Namespace, w.Name, flag(more))
	default:
		how = fmt.Sprintf("kubectl annotate -n %s %s %s --overwrite %s=%s", w.Namespace, strings.ToLower(w.Kind), w.Name, api.ExtendAnnotation, flag(added+more))
	}
	if d.Reason == api.ReasonIdle {
		return "Use it, or extend: " + how
	}
	return "Extend: " + how
}

// cleared says that a pause that was announced is off, and why.
func (w Workload) cleared(was Deadline, s Signal) string {
	why := "no ReclaimPolicy limits it any more"
	if was.Reason == api.ReasonIdle && s.Value != "" {
		why = s.Evidence
	}
	return fmt.Sprintf("%s will not be paused at %s: %s.", w, clockTime(was.At), why)
}
