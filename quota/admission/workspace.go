// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"fmt"

	"aipub.io/aipub/api/v1alpha1"
)

// readWorkspace reads what a Workspace asks for. While it is paused it makes no pod.
func (d *document) readWorkspace(raw []byte) *failure {
	var w struct {
		Spec v1alpha1.WorkspaceSpec `json:"spec"`
	}
	if failed := decode(raw, &w); failed != nil {
		return failed
	}
	d.own = &w.Spec
	d.own.Count = max(d.own.Count, 1)
	if d.own.Paused {
		d.replicas = 0
	}
	return nil
}

// checkSet refuses a Workspace whose set nobody may ask for.
func checkSet(name string, sets Sets) *Refusal {
	spec, known := sets[name]
	switch {
	case !known:
		return &Refusal{Reason: ReasonUnknownSet, Field: "spec.set", Value: name,
			Detail: "is no set; give one of these, closest first: " + closestSet(bareName(name), sets.defined())}
	case retired(spec):
		return &Refusal{Reason: ReasonRetiredSet, Field: "spec.set", Value: name,
			Detail: fmt.Sprintf("is defined by no PartitionPolicy any more, it exists only until its last holder ends; give another: %s", closestSet(name, sets.defined()))}
	}
	return nil
}
