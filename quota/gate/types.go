// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"time"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/quota"
	"aipub.io/aipub/quota/placement"
)

// Charged is a pod whose gate is open and that has not ended.
type Charged struct {
	Claim quota.Claim
	Grade quota.Grade
	// Node that it runs on or that was chosen for it; empty when unknown.
	Node string
	// Bound is true once the scheduler put it there.
	Bound bool
	// Leaving is true when it is being deleted: charged still, and about to be free.
	Leaving bool
	// Unmanaged is true when its namespace belongs to no project any more: it takes
	// room, and is charged to nobody.
	Unmanaged bool
	Ask       placement.Ask
}

// Pending is a pod whose gate is closed.
type Pending struct {
	Claim quota.Claim
	Ask   placement.Ask
	// Rank, Promoted and Created are the workload's.
	Rank, Promoted string
	Created        time.Time
	// Gang is how many pods of the workload start together or not at all, counting
	// those that run; 0 and 1: each starts alone.
	Gang int
	// OtherGates names its scheduling gates that are not ours. While there are any, it
	// takes no quota and no room, and nobody goes for it.
	OtherGates string
	// Freed is true when an earlier plan asked others to go for it: see Plan.Freed.
	Freed bool
}

// Snapshot is everything that a decision looks at. Decide changes nothing in it.
type Snapshot struct {
	Now     time.Time
	Quotas  []api.ResourceSetQuota
	Queues  []api.PriorityQueue
	Sizes   quota.Sizes
	Nodes   []placement.Node
	Charged []Charged
	Pending []Pending
	// Floors are the minimums of Operations, the eldest first.
	Floors []quota.Floor
}

// Plan is what to do. Every pending pod is in Open or in Wait, once.
type Plan struct {
	// Open in this order. What comes later was decided on what came before.
	Open []Opening
	Wait []Waiting
	// Yield are charged pods to end so that others get what is theirs.
	Yield []quota.Victim
	// Freed are the UIDs of the waiting pods for which those of Yield make room on
	// nodes. Whoever carries the plan out says so in later snapshots.
	Freed []string
	// Heads are the workloads that hold up the rest of their project, by project.
	Heads map[string]Head
	// More is true when the most openings were reached: whoever waits with
	// NotYet true was not looked at.
	More bool
}

// Opening is a gate to open.
type Opening struct {
	Claim quota.Claim
	Grade quota.Grade
	Seat  placement.Seat
	// Gang is true when it starts only together with the openings of the same
	// workload beside it.
	Gang bool
}

// Waiting is a gate that stays closed, and why.
type Waiting struct {
	Claim           quota.Claim
	Reason, Message string
	// Position of the workload in its project's queue, from 1.
	Position int
	// NotYet is true when the plan was full before its turn came.
	NotYet bool
}

// Head is a workload that holds up its project.
type Head struct {
	Workload        quota.Workload
	Party           quota.Party
	Reason, Message string
	// Since is when its oldest waiting pod was made.
	Since time.Time
}

// MaxKept is how many workloads have room kept for them at once.
const MaxKept = 64

// MaxYield is how many pods one plan asks to go. Where more have to go for one pod or
// gang, a plan asks them and nobody else.
const MaxYield = 64
