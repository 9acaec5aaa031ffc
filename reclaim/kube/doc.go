// SPDX-License-Identifier: Apache-2.0

// Package kube keeps the clocks of what ReclaimPolicies bind: it gathers what is known
// of a workload, has package reclaim decide, and carries that out. [Engine] serves
// Workspaces, whose own controller asks it, and [Others] the workloads of other kinds
// that are of type Workspace.
package kube
