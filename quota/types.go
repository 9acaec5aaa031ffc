// SPDX-License-Identifier: Apache-2.0

package quota

import (
	"time"

	api "aipub.io/aipub/api/v1alpha1"
)

// Units are shares of GPUs in 1/[aipub.io/aipub/gpu.UnitsPerGPU] of one.
type Units int64

// Sizes are the units of each set, by name. A set that is missing is unknown.
type Sizes map[string]Units

// Workload is what a person wrote: a Job, a Deployment, a pod. Comparable.
type Workload struct {
	Group, Kind, Namespace, Name, UID string
}

// Party is who is charged. Comparable.
type Party struct {
	Project, User string
	Type          api.WorkloadType
}

// Claim is one pod that asks for sets.
type Claim struct {
	// UID of the pod; the key.
	UID, Namespace, Name string
	Workload             Workload
	Party                Party
	// Sets that it asks for, each at least 1.
	Sets map[string]int64
	// Generation tells pods of one roll-out from those of another: the UID of the
	// pod's immediate controlling owner. Empty for pods without one.
	Generation string
	// Since is when it was made, or, once charged, when its gate was opened.
	Since time.Time
	// DueBack is when it has to give back, zero when no limit says so.
	DueBack time.Time
	// Stays is true when it was asked to go and may not, as for a PodDisruptionBudget:
	// nobody counts on it for now.
	Stays bool
}

// Floor is the guaranteed minimum of an Operation: MinReplicas pods that each ask
// for Sets.
type Floor struct {
	Workload    Workload
	Party       Party
	Sets        map[string]int64
	MinReplicas int64
}

// Grade is how a claim is charged.
type Grade string

// The grades.
const (
	// Within every limit.
	Within Grade = "Within"
	// Headroom: within every limit, and a replica of an Operation beyond its
	// minimum; given back first.
	Headroom Grade = "Headroom"
	// Borrowed: above a person's limit, within the project's; yields next.
	Borrowed Grade = "Borrowed"
	// Surge: above a limit, in place of an older pod of the same workload.
	Surge Grade = "Surge"
)
