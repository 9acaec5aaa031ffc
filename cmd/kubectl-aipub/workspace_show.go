// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/duration"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/reclaim"
)

func newWorkspaceShow(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "show NAME",
		Short: "Show where one is, why, until when, and what happened to it",
		Long: `Show where one is, since when and why, how long it may hold its set, what was warned,
extended and saved, and what happened to it lately. -o json and -o yaml give the object.

` + boundHelp,
		Example:           `  kubectl aipub workspace show kim`,
		ValidArgsFunction: a.completeOneBound,
		Args:              oneName,
	}
	out := addObjectOutput(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := out.check(); err != nil {
			return err
		}
		return a.showBound(cmd.Context(), args[0], out)
	}
	return cmd
}

func (a *app) showBound(ctx context.Context, text string, out *output) error {
	from, err := a.source()
	if err != nil {
		return err
	}
	b, err := a.findBound(ctx, from, text)
	if err != nil {
		return err
	}
	if table, _ := out.table(); !table {
		return out.object(b.object, a.Out)
	}
	var notes []string
	words := "not known"
	var known *reclaim.Rules
	rules, err := a.rulesOf(ctx, from, b)
	if err == nil {
		known, words = &rules, rulesWords(rules)
	} else {
		notes = append(notes, fmt.Sprintf("the rules that bind it are not known: %v", explain(err)))
	}
	events, err := a.eventsOf(ctx, from, b.object)
	if err != nil {
		notes = append(notes, fmt.Sprintf("what happened to it is not known: %v", explain(err)))
	}
	if b.workspace != nil && b.workspace.Spec.Home != nil && b.Phase == string(api.PhaseQueued) {
		notes = append(notes, a.homeNotes(ctx, from, b)...)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var screen bytes.Buffer
	writeFields(&screen, b.fields(known, words, a.now()))
	if err := out.tables(&screen, b.warningTable(a.now()), b.extensionTable(a.now()), eventTable(events, a.now())); err != nil {
		return fmt.Errorf("print workspace: %w", err)
	}
	if err := a.show(&screen); err != nil {
		return err
	}
	a.note(append(b.conditionNotes(), notes...)...)
	return nil
}

// fields are what is known of it, in words; rules are nil where they are not known.
func (b *bound) fields(rules *reclaim.Rules, ruleWords string, now time.Time) []field {
	out := []field{{b.Kind, b.Namespace + "/" + b.Name}, {"Charged", fmt.Sprintf("user %s, project %s", orElse(b.User, "-"), orElse(b.Project, "-"))}}
	if b.workspace != nil {
		out = append(out, specFields(b.workspace, rules)...)
	} else {
		out = append(out, field{"Set", orElse(setWords(b.Sets), "none")})
	}
	phase := orElse(b.phaseLine(), orElse(b.Phase, "its controller has not looked at it yet"))
	if b.Since != nil {
		phase = strings.Replace(phase, b.Phase, fmt.Sprintf("%s for %s", b.Phase, age(*b.Since, now)), 1)
	}
	out = append(out, field{"Phase", phase}, field{"Rules", ruleWords})
	if b.holds() {
		out = append(out, field{"Held", fmt.Sprintf("%s, on a node since %s", b.heldWords(), timeWords(*b.Occupancy.Since))})
	}
	if due := b.dueWords(); due != "" {
		out = append(out, field{"Until", fmt.Sprintf("%s (%s): %s", due, b.untilWords(now), byWords(b.Occupancy.Reason, b.Occupancy.Policy))})
	}
	if activity := b.activityWords(now); activity != "" {
		out = append(out, field{"Activity", joined(activity, b.Occupancy.Evidence)})
	}
	if p := b.Pause; p != nil {
		out = append(out, field{"Paused", pauseWords(p)})
	}
	if b.workspace != nil && b.workspace.Status.Saved != nil {
		out = append(out, field{"Saved", savedWords(b.workspace)})
	}
	return out
}

// joined are words with others behind, where there are any.
func joined(words, more string) string {
	if more == "" {
		return words
	}
	return words + ": " + more
}

func pauseWords(p *api.Pause) string {
	words := fmt.Sprintf("asked for at %s: %s", timeWords(p.At), byWords(p.Reason, p.By))
	switch {
	case p.FreedAt != nil:
		return fmt.Sprintf("%s; its set was free at %s", words, timeWords(*p.FreedAt))
	case p.RetryAt != nil:
		return fmt.Sprintf("%s; saving failed %s, it is tried again at %s: %s", words, plural(int(p.Attempts), "time"), timeWords(*p.RetryAt), p.Message)
	}
	return words + "; it holds its set still"
}

func savedWords(w *api.Workspace) string {
	s := w.Status.Saved
	where := "in the registry"
	if s.Node != "" {
		where = "on node " + s.Node
	}
	words := fmt.Sprintf("file system, %s at %s, %s (WorkspaceSnapshot %s)", memory(s.Bytes), timeWords(s.At), where, s.Snapshot)
	switch {
	case s.BaseImage != w.Spec.Image:
		return words + "; not used, for it is of another image: " + s.BaseImage
	case w.Annotations[api.FromImageAnnotation] == s.Snapshot:
		return words + "; not used, as was asked for"
	}
	return words
}

func (b *bound) warningTable(now time.Time) *metav1.Table {
	t := columns("Warned", "Of a pause at", "Before")
	if b.Occupancy != nil {
		for _, w := range b.Occupancy.Warnings {
			addRow(t, age(w.At, now)+" ago", timeWords(w.ExpiresAt), hours(time.Duration(w.BeforeSeconds)*time.Second))
		}
	}
	return t
}

func (b *bound) extensionTable(now time.Time) *metav1.Table {
	t := columns("Extended", "By", "For")
	if b.Occupancy != nil {
		for _, e := range b.Occupancy.Extensions {
			addRow(t, age(e.At, now)+" ago", e.By, hours(time.Duration(e.Seconds)*time.Second))
		}
	}
	return t
}

// conditionNotes say what its user should know: that its work is not saved, that a
// change has not taken effect.
func (b *bound) conditionNotes() []string {
	var notes []string
	if b.workspace == nil {
		return nil
	}
	if c := meta.FindStatusCondition(b.workspace.Status.Conditions, api.ConditionSaved); c != nil && c.Status == metav1.ConditionFalse && c.Message != b.Message {
		notes = append(notes, c.Message)
	}
	if c := meta.FindStatusCondition(b.workspace.Status.Conditions, api.ConditionRestartNeeded); c != nil && c.Status == metav1.ConditionTrue {
		notes = append(notes, c.Message)
	}
	return notes
}

// homeNotes say that a claim waits for its volume, and why, which the scheduler's
// sentence leaves out.
func (a *app) homeNotes(ctx context.Context, from lister, b *bound) []string {
	name := "home-" + b.Name
	options := metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector(metav1.ObjectNameField, name).String()}
	claims, err := a.listSelected(ctx, from, claimKind, b.Namespace, options)
	if err != nil {
		return []string{fmt.Sprintf("whether its home has a volume is not known: %v", explain(err))}
	}
	for i := range claims {
		phase, _, _ := unstructured.NestedString(claims[i].Object, "status", "phase") // "" where it has none yet
		if claims[i].GetName() != name || phase == string(corev1.ClaimBound) {
			continue
		}
		words := fmt.Sprintf("its home, claim %s, has no volume yet", name)
		if events, err := a.eventsOf(ctx, from, &claims[i]); err == nil && len(events) > 0 {
			words += ": " + strings.TrimSpace(events[len(events)-1].Message)
		}
		return []string{words}
	}
	return nil
}

var (
	eventKind = boundKind{corev1.SchemeGroupVersion.WithKind("Event"), "events"}
	claimKind = boundKind{corev1.SchemeGroupVersion.WithKind("PersistentVolumeClaim"), "persistentvolumeclaims"}
)

// mostEvents is how many are shown, the latest.
const mostEvents = 10

// eventsOf are the latest events about an object, the latest last.
func (a *app) eventsOf(ctx context.Context, from lister, object *unstructured.Unstructured) ([]corev1.Event, error) {
	options := metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector("involvedObject.uid", string(object.GetUID())).String()}
	items, err := a.listSelected(ctx, from, eventKind, object.GetNamespace(), options)
	if err != nil {
		return nil, err
	}
	var events []corev1.Event
	for i := range items {
		var e corev1.Event
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(items[i].Object, &e); err != nil {
			return nil, fmt.Errorf("read event %s: %w", items[i].GetName(), err)
		}
		if e.InvolvedObject.UID == object.GetUID() {
			events = append(events, e)
		}
	}
	slices.SortStableFunc(events, func(x, y corev1.Event) int { return eventTime(x).Compare(eventTime(y)) })
	return events[max(0, len(events)-mostEvents):], nil
}

// eventTime is when an event was seen last.
func eventTime(e corev1.Event) time.Time {
	switch {
	case e.Series != nil:
		return e.Series.LastObservedTime.Time
	case !e.LastTimestamp.IsZero():
		return e.LastTimestamp.Time
	}
	return e.EventTime.Time
}

func eventTable(events []corev1.Event, now time.Time) *metav1.Table {
	t := columns("Event", "Age", "Message")
	for _, e := range events {
		addRow(t, e.Reason, duration.HumanDuration(max(now.Sub(eventTime(e)), 0)), strings.TrimSpace(e.Message))
	}
	return t
}
