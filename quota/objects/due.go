// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"encoding/json"
	"time"

	api "aipub.io/aipub/api/v1alpha1"
)

// dueBack is when something has to give back what it holds; zero when it need not.
func dueBack(o *api.Occupancy) time.Time {
	if o == nil || o.ExpiresAt == nil {
		return time.Time{}
	}
	return o.ExpiresAt.Time
}

// annotatedDue is dueBack for what is no Workspace itself and is of that type.
func annotatedDue(annotations map[string]string) time.Time {
	text := annotations[api.OccupancyAnnotation]
	if text == "" || api.WorkloadType(annotations[api.TypeAnnotation]) != api.TypeWorkspace {
		return time.Time{}
	}
	var o api.Occupancy
	if json.Unmarshal([]byte(text), &o) != nil {
		return time.Time{} // the controller writes it anew
	}
	return dueBack(&o)
}
