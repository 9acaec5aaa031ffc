// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"fmt"
	"strings"
)

// Reason is the typed word for a decision. The same word stands in the causes
// of a refusal and in the metric's label.
type Reason string

// Why a pod is let through.
const (
	// ReasonExpanded: CPU and memory of its sets were filled in.
	ReasonExpanded Reason = "Expanded"
	// ReasonUnchanged: nothing had to be changed or refused.
	ReasonUnchanged Reason = "Unchanged"
)

// Why a pod is refused.
const (
	// ReasonUnknownSet: no ResourceSet has the name asked for.
	ReasonUnknownSet Reason = "UnknownSet"
	// ReasonRetiredSet: no policy defines the set any more; it exists only until
	// its last holder ends.
	ReasonRetiredSet Reason = "RetiredSet"
	// ReasonTwoSets: one container asks for two different sets.
	ReasonTwoSets Reason = "TwoSets"
	// ReasonBadCount: the number of sets is not a whole number from 1.
	ReasonBadCount Reason = "BadCount"
	// ReasonCountsDiffer: request and limit of a set differ.
	ReasonCountsDiffer Reason = "CountsDiffer"
	// ReasonAboveSet: CPU or memory was given above what the set holds.
	ReasonAboveSet Reason = "AboveSet"
	// ReasonInitSetDiffers: an init container asks for a set that no other
	// container of the pod asks for.
	ReasonInitSetDiffers Reason = "InitSetDiffers"
	// ReasonSetOutsideContainer: a set is asked for the pod as a whole or by an
	// ephemeral container.
	ReasonSetOutsideContainer Reason = "SetOutsideContainer"
	// ReasonResize: the resources of a container with a set were to be changed
	// while it runs.
	ReasonResize Reason = "ResizeOfSet"
	// ReasonNotExpanded: the pod does not hold what its sets expand to.
	ReasonNotExpanded Reason = "NotExpanded"
)

// Why an object is stamped or left alone.
const (
	// ReasonStamped: who is charged was written on it.
	ReasonStamped Reason = "Stamped"
	// ReasonNotCharged: nothing of it is charged, and nobody is known to charge.
	ReasonNotCharged Reason = "NotCharged"
)

// Why an object is refused because of who would be charged.
const (
	// ReasonForgedUser: it names somebody whom its author may not act for.
	ReasonForgedUser Reason = "ForgedUser"
	// ReasonUnboundAccount: its author is a ServiceAccount that acts for nobody.
	ReasonUnboundAccount Reason = "UnboundAccount"
	// ReasonForeignAccount: its author is a ServiceAccount of another namespace.
	ReasonForeignAccount Reason = "ForeignAccount"
	// ReasonNoPerson: its author is a part of the cluster.
	ReasonNoPerson Reason = "NoPerson"
	// ReasonUnknownOwner: a controller made it for an owner that cannot be verified
	// or is charged to nobody.
	ReasonUnknownOwner Reason = "UnknownOwner"
	// ReasonForgedStamp: it carries another annotation that only admission or the
	// controller writes.
	ReasonForgedStamp Reason = "ForgedStamp"
	// ReasonBadType: aipub.io/type is no workload type.
	ReasonBadType Reason = "BadType"
	// ReasonNodeChosen: it names the node, which the controller chooses.
	ReasonNodeChosen Reason = "NodeChosen"
	// ReasonNoProject: the namespace's label names no project.
	ReasonNoProject Reason = "NoProject"
	// ReasonBadRank: aipub.io/rank or promoted is no place in a queue.
	ReasonBadRank Reason = "BadRank"
	// ReasonBadGang: aipub.io/gang is no number of pods that can start together.
	ReasonBadGang Reason = "BadGang"
	// ReasonBadExtension: aipub.io/extend is no time, or more than may be added.
	ReasonBadExtension Reason = "BadExtension"
	// ReasonBadMinimum: aipub.io/min-replicas is no number.
	ReasonBadMinimum Reason = "BadMinimum"
)

// Why a request of any kind could not be decided.
const (
	// ReasonBadRequest: the object could not be read.
	ReasonBadRequest Reason = "BadRequest"
	// ReasonUnavailable: what the decision needs could not be read from the
	// cluster.
	ReasonUnavailable Reason = "Unavailable"
)

// Refusal is one thing that is wrong with an object, for its author to mend.
type Refusal struct {
	Reason Reason
	// Field is where, for example spec.containers[0].resources.limits[cpu].
	Field string
	// Value is what stands there; empty when nothing does.
	Value string
	// Detail says what is allowed and what to do.
	Detail string
}

// String is the sentence that the user reads.
func (r Refusal) String() string { return fmt.Sprintf("%s: %s", r.Field, r.message()) }

// message is the sentence without the field.
func (r Refusal) message() string {
	if r.Value == "" {
		return r.Detail
	}
	return fmt.Sprintf("%q %s", r.Value, r.Detail)
}

// Refusals is everything that is wrong with one object; none means that it is
// accepted.
type Refusals []Refusal

// String joins the sentences.
func (rs Refusals) String() string {
	sentences := make([]string, len(rs))
	for i, r := range rs {
		sentences[i] = r.String()
	}
	return strings.Join(sentences, "; ")
}
