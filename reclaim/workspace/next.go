// SPDX-License-Identifier: Apache-2.0

package workspace

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "aipub.io/aipub/api/v1alpha1"
)

// Plan is what is to be done for a Workspace now.
type Plan struct {
	// Replicas that its StatefulSet shall have.
	Replicas int32
	// Status that it shall have; its occupancy is another's and left as it is.
	Status api.WorkspaceStatus
	// Create is a snapshot to ask for; nil for none.
	Create *api.WorkspaceSnapshotSpec
	// CreateName is its name.
	CreateName string
	// Lost is a snapshot that nobody will finish: it is marked as failed with
	// LostReason.
	Lost, LostReason string
	// Prune are snapshots that are not needed any more.
	Prune []string
	// Resumed is true when it starts anew: its clock does, too.
	Resumed bool
	// Events are what its user is told.
	Events []Event
	// After is when to look again if nothing happens before; zero is never.
	After time.Duration
}

// Event is something that its user is told.
type Event struct {
	Warning         bool
	Reason, Message string
}

// Next says what becomes of a Workspace. It is pure, and its answer is the same until
// something has happened.
func Next(s Seen) Plan {
	p := Plan{Replicas: 1, Status: *s.Workspace.Status.DeepCopy()}
	p.Status.ObservedGeneration = s.Workspace.Generation
	switch {
	case s.Taken:
		p.Replicas = 0
		p.phase(&s, api.PhaseFailed, api.ReasonInvalidTemplate, fmt.Sprintf("a StatefulSet %s exists and belongs to another; rename one of the two", s.Workspace.Name))
	case s.Workspace.Spec.Paused:
		s.pause(&p)
	default:
		s.run(&p)
	}
	s.prune(&p)
	p.setReady(s)
	return p
}

// run is for one that shall run.
func (s *Seen) run(p *Plan) {
	if s.Workspace.Status.Pause != nil {
		p.Status.Pause = nil
		p.Resumed = s.resumes()
		if p.Resumed {
			p.tell(api.ReasonResumed, "it starts again, and its clock anew")
		}
	}
	if s.Workspace.Annotations[api.ProjectAnnotation] == "" {
		p.Replicas = 0
		p.phase(s, api.PhaseFailed, api.ReasonUnmanaged, fmt.Sprintf("namespace %s belongs to no project, so nobody is charged and no gate opens; an administrator labels it %s=PROJECT, and the Workspace is made anew",
			s.Workspace.Namespace, api.ProjectLabel))
		return
	}
	if lost := s.savedLost(); lost != "" {
		p.Replicas = 0
		p.phase(s, api.PhaseFailed, api.ReasonSavedStateGone, lost)
		return
	}
	phase, reason, message := s.progress()
	p.phase(s, phase, reason, message)
	p.Status.Node = ""
	if s.Pod != nil {
		p.Status.Node = s.Pod.Spec.NodeName
	}
}

// savedLost says why its saved file system cannot be had; empty when it can, or there
// is none to start from.
func (s *Seen) savedLost() string {
	saved := s.Workspace.Status.Saved
	if saved == nil || saved.Node == "" || !s.SavedNodeGone || !usesSaved(s.Workspace) || !s.stopped() {
		return ""
	}
	return fmt.Sprintf("its file system was saved on node %s only, which is not in the cluster. Bring the node back, or start from the image: "+
		"kubectl aipub workspace resume -n %s %s --from-image", saved.Node, s.Workspace.Namespace, s.Workspace.Name)
}

// phase sets where it is; since changes only when the phase does.
func (p *Plan) phase(s *Seen, phase api.WorkspacePhase, reason, message string) {
	if p.Status.Phase != phase || p.Status.Since == nil {
		now := metav1.NewTime(s.Now)
		p.Status.Since = &now
	}
	p.Status.Phase, p.Status.Reason, p.Status.Message = phase, reason, message
}

// refuse notes what the API server does not take of what it is made of. One that runs
// goes on running; its user is told when the words change.
func (p *Plan) refuse(s *Seen, err error) {
	if err == nil {
		return
	}
	message := short(err.Error(), longestNote)
	if p.Replicas > 0 && s.Pod == nil {
		p.phase(s, api.PhaseFailed, api.ReasonInvalidTemplate, message)
	} else if p.Status.Message == "" {
		p.Status.Reason, p.Status.Message = api.ReasonInvalidTemplate, message
	}
	if !strings.Contains(s.Workspace.Status.Message, message) {
		p.warn(api.ReasonInvalidTemplate, "%s", message)
	}
}

// longestNote is what the API server takes of an event's note; failures quote at most
// longestQuote of what others say.
const longestNote, longestQuote = 1000, 400

// short cuts a text at a number of bytes, between two characters.
func short(text string, most int) string {
	if len(text) <= most {
		return text
	}
	cut := most
	for cut > 0 && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + " …"
}

func (p *Plan) tell(reason, format string, args ...any) {
	p.Events = append(p.Events, Event{Reason: reason, Message: fmt.Sprintf(format, args...)})
}

func (p *Plan) warn(reason, format string, args ...any) {
	p.Events = append(p.Events, Event{Warning: true, Reason: reason, Message: fmt.Sprintf(format, args...)})
}
