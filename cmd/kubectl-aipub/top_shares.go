// SPDX-License-Identifier: Apache-2.0

package main

import "aipub.io/aipub/sharer"

// Where shares come from.
const (
	fromAgents     = "Agents"         // between two reports of each node's agent
	fromPartitions = "NodePartitions" // averages over the last minute
)

// What a container does with its share.
const (
	stateRunning   = "running"   // uses its own share
	stateBorrowing = "borrowing" // uses more than its share
	stateWaiting   = "waiting"   // has work, and somebody else has the GPU
	stateLending   = "lending"   // idle while others use its share
	stateIdle      = "idle"      // its processes want nothing
	stateEmpty     = "empty"     // has no process on the GPU
	stateUnlimited = "unlimited" // the limiter is off on its node
)

// shares are how the block slices of a cluster are used. Their JSON form is for
// scripts.
type shares struct {
	APIVersion string           `json:"apiVersion"`
	Kind       string           `json:"kind"`
	Source     string           `json:"source"`
	GPUs       []gpuShare       `json:"gpus"`
	Containers []containerShare `json:"containers"`
	// Notes say what is missing or wrong, each in a sentence.
	Notes []string `json:"notes,omitempty"`
}

// used is where GPU time went, in percent of one GPU's time.
type used struct {
	Used     float64 `json:"usedPercent"`
	Lent     float64 `json:"lentPercent"`
	Borrowed float64 `json:"borrowedPercent"`
	// Unused is what of the guarantee was neither used nor lent.
	Unused float64 `json:"unusedPercent"`
	// Waiting is the time that work waited, so not a part of the others.
	Waiting float64 `json:"waitingPercent"`
}

// containerShare is one container with all that it holds of block GPUs.
type containerShare struct {
	Node      string   `json:"node"`
	GPUs      []int    `json:"gpus"`
	Namespace string   `json:"namespace,omitempty"`
	Pod       string   `json:"pod,omitempty"`
	Container string   `json:"container,omitempty"`
	Set       string   `json:"set"`
	Slices    []string `json:"slices"`
	// Share is guaranteed, in percent of one GPU, summed over its GPUs.
	Share            int    `json:"sharePercent"`
	State            string `json:"state"`
	Processes        int    `json:"processes"`
	MemoryBytes      uint64 `json:"memoryBytes"`
	MemoryLimitBytes uint64 `json:"memoryLimitBytes"` // 0: none
	// Time is nil where two reports could not be compared.
	Time *used `json:"time,omitempty"`
	// PastLimiter is that it has work which the agent does not count: it used more
	// than Time says, and lent less.
	PastLimiter bool `json:"pastLimiter,omitempty"`
	// Detail is what only the agent knows.
	Detail   *shareDetail           `json:"detail,omitempty"`
	Findings []sharer.FindingReport `json:"findings,omitempty"`
}

// shareDetail is for whoever looks closer; -o wide shows it.
type shareDetail struct {
	MaxPercent        int     `json:"maxPercent"` // with what is borrowed
	Lends             bool    `json:"lends"`
	Borrows           bool    `json:"borrows"`
	Leases            uint64  `json:"leases"`
	LaunchesPerSecond float64 `json:"launchesPerSecond"`
	MemoryRefused     uint64  `json:"memoryRefused"` // allocations
	LongestMillis     float64 `json:"longestMillis"` // longest single command
	DebtMillis        float64 `json:"debtMillis"`    // ahead of its share now
	// Reclaims is how often it woke while another had the GPU. The others say how
	// long it then waited; 99 of 100 were not longer than ReclaimP99.
	Reclaims             uint64  `json:"reclaims"`
	LastReclaimMillis    float64 `json:"lastReclaimMillis"`
	ReclaimP99Millis     float64 `json:"reclaimP99Millis"`
	LongestReclaimMillis float64 `json:"longestReclaimMillis"`
}

// gpuShare sums up the containers on one GPU. What a container has on several
// GPUs counts for each in equal parts, since its lease is on all of them at once.
type gpuShare struct {
	Node             string  `json:"node"`
	GPU              int     `json:"gpu"`
	Containers       int     `json:"containers"`
	Share            float64 `json:"sharePercent"`
	Time             *used   `json:"time,omitempty"`        // nil unless known of all its containers
	PastLimiter      bool    `json:"pastLimiter,omitempty"` // a container's
	MemoryBytes      uint64  `json:"memoryBytes"`
	MemoryLimitBytes uint64  `json:"memoryLimitBytes"`
}
