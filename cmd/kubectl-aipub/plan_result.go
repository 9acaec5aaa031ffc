// SPDX-License-Identifier: Apache-2.0

package main

import (
	"k8s.io/apimachinery/pkg/api/resource"

	api "aipub.io/aipub/api/v1alpha1"
)

// planVersion is the version of the plan's JSON and YAML form.
const planVersion = "cli.aipub.io/v1alpha1"

// plan is what a policy would make of the cluster. Its JSON form is for scripts.
type plan struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// Policy is its name and Selector its nodeSelector in label syntax.
	Policy   string `json:"policy"`
	Selector string `json:"selector"`
	// Refused is what the policy asks for and cannot have, and why. The
	// controller would report the same.
	Refused []api.Rejection `json:"refused,omitempty"`
	Sets    []plannedSet    `json:"sets"`
	Nodes   []plannedNode   `json:"nodes"`
}

// size is the size of one set.
type size struct {
	CPU    resource.Quantity `json:"cpu"`
	Memory resource.Quantity `json:"memory"`
	GPU    *api.SetGPU       `json:"gpu,omitempty"`
}

// What becomes of a set.
const (
	setNew       = "new"
	setSame      = "unchanged"
	setResized   = "resized"
	setRemoved   = "removed"
	setLingering = "removed when its holders end"
)

// plannedSet is one set over all nodes.
type plannedSet struct {
	Name string `json:"name"`
	// Size is what one would be; nil for a set that goes. Was is what one is
	// now; nil for a set that is new or stays.
	Size *size `json:"size,omitempty"`
	Was  *size `json:"was,omitempty"`
	// Together is how many can be held beside the other sets when all sets take
	// one in turn, Alone how many while no other set is held.
	Together int    `json:"together"`
	Alone    int    `json:"alone"`
	Change   string `json:"change"`
}

// plannedNode is one node that the policy selects or that it leaves.
type plannedNode struct {
	Name string `json:"name"`
	// Skipped says why nothing is planned for the node; empty when it is.
	Skipped string `json:"skipped,omitempty"`
	// Allocatable is what the kubelet gives to pods, Reserved what the policy
	// keeps out of the sets, Unused what even division cannot hand out.
	Allocatable *hostPart `json:"allocatable,omitempty"`
	Reserved    *hostPart `json:"reserved,omitempty"`
	Unused      *hostPart `json:"unused,omitempty"`
	// Sets are the node's counts, in the policy's order.
	Sets []nodeSet    `json:"sets,omitempty"`
	GPUs []plannedGPU `json:"gpus,omitempty"`
	// Absent are sets that the policy's own rules keep from this node.
	Absent []api.Rejection `json:"absent,omitempty"`
	// Leaving are slices that the plan does not have and that somebody holds;
	// each goes when its holder ends.
	Leaving []heldSlice `json:"leaving,omitempty"`
}

// hostPart is CPU and memory.
type hostPart struct {
	CPU    resource.Quantity `json:"cpu"`
	Memory resource.Quantity `json:"memory"`
}

// nodeSet counts one set on one node.
type nodeSet struct {
	Name     string `json:"name"`
	Together int    `json:"together"`
	Alone    int    `json:"alone"`
	// Lost is how many more the GPUs could hold if there were CPU and memory.
	Lost int `json:"lost,omitempty"`
	// CPUOnly is true for a set without GPU.
	CPUOnly bool `json:"cpuOnly,omitempty"`
}

// plannedGPU is one GPU.
type plannedGPU struct {
	Index int    `json:"index"`
	UUID  string `json:"uuid"`
	Model string `json:"model"`
	NUMA  string `json:"numa"`
	// Mode would be its mode, empty where it is left as it is; Was its mode now.
	Mode string `json:"mode,omitempty"`
	Was  string `json:"was,omitempty"`
	// Slices is what it would be cut into, in words.
	Slices string `json:"slices"`
	// Unused is the part of it that no set can use, in words; empty if none.
	Unused string `json:"unused,omitempty"`
	// Change says what has to happen to it, in words; empty if nothing.
	Change string `json:"change,omitempty"`
	// Waits are the slices that must be given back before it can be cut anew.
	Waits []heldSlice `json:"waits,omitempty"`
	// Why explains how the policy came to it.
	Why []string `json:"why,omitempty"`
}

// heldSlice is a slice that somebody holds.
type heldSlice struct {
	ID     string `json:"id"`
	Set    string `json:"set"`
	Part   string `json:"part"`
	Holder string `json:"holder"`
}
