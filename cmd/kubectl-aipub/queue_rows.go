// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/quota"
	"aipub.io/aipub/quota/objects"
)

// queueDoc is a queue, or all of them. Its JSON form is for scripts.
type queueDoc struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// Source is Pods where the order comes from pods and workloads as they are now,
	// PriorityQueue where it is what the controller last wrote.
	Source string `json:"source"`
	// Waiting in order: of turns among all projects, or of one project.
	Waiting []queueRow `json:"waiting"`
	// Heads are the workloads that hold up the rest of their project.
	Heads []queueHead `json:"heads,omitempty"`
	Notes []string    `json:"notes,omitempty"`
}

// queueRow is one waiting workload.
type queueRow struct {
	// Turn among all projects and Position in its own, from 1. Turn is 0 when one
	// project was asked for or it is not known.
	Turn     int    `json:"turn,omitempty"`
	Position int    `json:"position"`
	Project  string `json:"project"`
	// Workload is NAMESPACE/KIND/NAME, as queue move takes it.
	Workload string           `json:"workload"`
	User     string           `json:"user"`
	Type     api.WorkloadType `json:"type"`
	// Pods that wait, and the sets that one of them asks for.
	Pods     int              `json:"pods"`
	Sets     map[string]int64 `json:"sets,omitempty"`
	Promoted bool             `json:"promoted,omitempty"`
	// Key is its place in the order; empty when only the controller knows.
	Key     string      `json:"key,omitempty"`
	Since   metav1.Time `json:"since"`
	Reason  string      `json:"reason"`
	Message string      `json:"message,omitempty"`
}

// queueHead is a workload that holds up its project.
type queueHead struct {
	Project  string `json:"project"`
	Workload string `json:"workload"`
	Reason   string `json:"reason"`
	Message  string `json:"message,omitempty"`
}

func newQueueDoc(source string) *queueDoc {
	return &queueDoc{APIVersion: planVersion, Kind: "Queue", Source: source, Waiting: []queueRow{}}
}

// refOf is a workload as users write it.
func refOf(w quota.Workload) string {
	return fmt.Sprintf("%s/%s/%s", w.Namespace, strings.ToLower(w.Kind), w.Name)
}

// document is a project's queue, or with "" all of them.
func (q *queues) document(project string) *queueDoc {
	d := newQueueDoc("Pods")
	d.Notes = q.notes
	position := map[quota.Workload]int{}
	for _, order := range q.byProject() {
		for i, it := range order {
			position[it.Workload] = i + 1
		}
	}
	for i, it := range q.order {
		if project != "" && it.Party.Project != project {
			continue
		}
		row := q.row(q.waiters[it.Workload])
		row.Position = position[it.Workload]
		if project == "" {
			row.Turn = i + 1
		}
		d.Waiting = append(d.Waiting, row)
	}
	for _, p := range slices.Sorted(maps.Keys(q.heads)) {
		if h := q.heads[p]; project == "" || p == project {
			d.Heads = append(d.Heads, queueHead{p, refOf(h.Workload), h.Reason, h.Message})
		}
	}
	return d
}

func (q *queues) row(w *waiter) queueRow {
	r := queueRow{
		Project: w.Party.Project, Workload: refOf(w.Workload), User: w.Party.User, Type: w.Party.Type,
		Pods: len(w.pods), Sets: objects.Sets(&w.pods[0].Spec), Promoted: w.Promoted != "", Key: w.Key(),
		Since: metav1.NewTime(w.since),
	}
	if w.Promoted != "" {
		r.Key = w.Promoted
	}
	for _, p := range w.pods {
		// A workload waits for what keeps its first pod that does not start now.
		if r.Reason, r.Message = q.why(p); r.Reason != reasonOpensNow {
			break
		}
	}
	return r
}

// addFront adds what the controller wrote of a project's queue.
func (d *queueDoc) addFront(o *api.PriorityQueue) {
	for i, e := range o.Status.Front {
		row := queueRow{
			Position: i + 1, Project: o.Name, User: e.User, Type: e.Type, Pods: int(e.Pods), Promoted: e.Promoted,
			Workload: refOf(quota.Workload{Namespace: e.Namespace, Kind: e.Kind, Name: e.Name}),
			Sets:     map[string]int64{}, Since: e.Since, Reason: e.Reason, Message: e.Message,
		}
		for set, n := range e.Sets {
			row.Sets[set] = int64(n)
		}
		d.Waiting = append(d.Waiting, row)
	}
	if left := int(o.Status.Workloads) - len(o.Status.Front); left > 0 {
		d.Notes = append(d.Notes, fmt.Sprintf("project %s: %s more wait behind these", o.Name, plural(left, "workload")))
	}
}

// notes are what the user is told beside the table.
func (d *queueDoc) notes() []string {
	notes := slices.Clone(d.Notes)
	if len(d.Waiting) == 0 {
		notes = append(notes, "nothing waits")
	}
	for _, h := range d.Heads {
		notes = append(notes, fmt.Sprintf("project %s: %s holds up those behind it: %s: %s", h.Project, h.Workload, h.Reason, h.Message))
	}
	return notes
}

func queueTable(d *queueDoc, now time.Time) *metav1.Table {
	turns := slices.ContainsFunc(d.Waiting, func(r queueRow) bool { return r.Turn > 0 })
	names := []string{"Place", "Project", "Workload", "User", "Type", "Pods", "Sets", "Promoted", "Waits", "Reason", "+Key", "+Message"}
	if turns {
		names = append([]string{"Turn"}, names...)
	}
	t := columns(names...)
	for _, r := range d.Waiting {
		cells := []string{strconv.Itoa(r.Position), r.Project, r.Workload, r.User, string(r.Type), strconv.Itoa(r.Pods),
			setWords(r.Sets), yesOrNothing(r.Promoted), age(r.Since, now), r.Reason, r.Key, r.Message}
		if turns {
			cells = append([]string{strconv.Itoa(r.Turn)}, cells...)
		}
		addRow(t, cells...)
	}
	return t
}

// setWords are a pod's sets: "small" or "2 small, cpu".
func setWords(sets map[string]int64) string {
	var words []string
	for _, set := range slices.Sorted(maps.Keys(sets)) {
		if n := sets[set]; n != 1 {
			set = strconv.FormatInt(n, 10) + " " + set
		}
		words = append(words, set)
	}
	return strings.Join(words, ", ")
}

func yesOrNothing(yes bool) string {
	if yes {
		return "yes"
	}
	return ""
}
