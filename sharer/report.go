// SPDX-License-Identifier: Apache-2.0

package sharer

import "time"

// Report is what a node's agent says about its block slices at one moment, as
// JSON on its metrics address at ReportPath. Durations are totals in nanoseconds
// since the tenant came or the agent started: a reader takes the difference of
// two reports over that of At.
type Report struct {
	Node string `json:"node"`
	// At is the node's monotonic clock; two reports of one boot can be compared.
	At      Instant        `json:"at"`
	BootID  string         `json:"bootID"`
	Tenants []TenantReport `json:"tenants"`
}

// ReportPath is where the agent serves its Report.
const ReportPath = "/shares"

// TenantReport is one container with what it holds of block GPUs.
type TenantReport struct {
	ID        TenantID `json:"id"`
	Namespace string   `json:"namespace,omitempty"`
	Pod       string   `json:"pod,omitempty"`
	Container string   `json:"container,omitempty"`
	Set       string   `json:"set"`
	Slices    []string `json:"slices"`
	GPUs      []int    `json:"gpus"` // indices

	Percent     int  `json:"percent"`    // guaranteed, of one GPU, summed
	MaxPercent  int  `json:"maxPercent"` // with what is borrowed
	Lends       bool `json:"lends"`
	Borrows     bool `json:"borrows"`
	Processes   int  `json:"processes"` // with the limiter attached
	HasLease    bool `json:"hasLease"`
	HasBorrowed bool `json:"hasBorrowed"` // the lease is on others' account
	Wants       bool `json:"wants"`       // work waits

	MemoryBytes      uint64 `json:"memoryBytes"`      // used
	MemoryLimitBytes uint64 `json:"memoryLimitBytes"` // now; 0: none
	// MemoryGuaranteedBytes of the limit are its own, MemoryMaxBytes the most that
	// the limit ever is: the difference is what it may borrow.
	MemoryGuaranteedBytes uint64 `json:"memoryGuaranteedBytes"`
	MemoryMaxBytes        uint64 `json:"memoryMaxBytes"`
	MemoryRefused         uint64 `json:"memoryRefused"` // allocations

	Used     time.Duration `json:"usedNs"`
	Lent     time.Duration `json:"lentNs"`
	Borrowed time.Duration `json:"borrowedNs"`
	Waited   time.Duration `json:"waitedNs"`
	Longest  time.Duration `json:"longestNs"` // longest single command
	Debt     time.Duration `json:"debtNs"`    // ahead of its share now
	Leases   uint64        `json:"leases"`
	Launches uint64        `json:"launches"`

	// Reclaims counts, by ReclaimBounds, how long it waited for the GPU when it
	// woke while another had it.
	Reclaims       []uint64      `json:"reclaims"`
	ReclaimSum     time.Duration `json:"reclaimSumNs"`
	LastReclaim    time.Duration `json:"lastReclaimNs"`
	LongestReclaim time.Duration `json:"longestReclaimNs"`

	Findings []FindingReport `json:"findings,omitempty"`
}

// FindingReport is a process that is not within what its slice allows.
type FindingReport struct {
	PID     int    `json:"pid"` // on the host
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

// Rates is how a tenant used GPUs between two reports, in percent of one GPU's
// time.
type Rates struct {
	Used, Lent, Borrowed, Waiting float64
}

// RatesBetween compares two reports of a tenant that are some time apart. A
// counter that fell, since the agent was restarted, counts from zero.
func RatesBetween(before, after TenantReport, apart time.Duration) Rates {
	if apart <= 0 {
		return Rates{}
	}
	rate := func(from, to time.Duration) float64 {
		if to < from {
			from = 0
		}
		return 100 * float64(to-from) / float64(apart)
	}
	return Rates{
		Used:     rate(before.Used, after.Used),
		Lent:     rate(before.Lent, after.Lent),
		Borrowed: rate(before.Borrowed, after.Borrowed),
		Waiting:  rate(before.Waited, after.Waited),
	}
}
