// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ResourceSet is CPU, memory and GPU as one unit that a pod asks for by name. The
// controller writes it from the PartitionPolicies.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=rss,categories=aipub
// +kubebuilder:printcolumn:name="Resource",type=string,JSONPath=`.spec.resourceName`
// +kubebuilder:printcolumn:name="CPU",type=string,JSONPath=`.spec.cpu`
// +kubebuilder:printcolumn:name="Memory",type=string,JSONPath=`.spec.memory`
// +kubebuilder:printcolumn:name="Total",type=integer,JSONPath=`.status.total`
// +kubebuilder:printcolumn:name="Free",type=integer,JSONPath=`.status.free`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
type ResourceSet struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the size of one set.
	Spec ResourceSetSpec `json:"spec"`
	// status says how many there are and where.
	// +optional
	Status ResourceSetStatus `json:"status,omitempty"`
}

// ResourceSetList is a list of sets.
//
// +kubebuilder:object:root=true
type ResourceSetList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ResourceSet `json:"items"`
}

// ResourceSetSpec is the size of one set: what every pod that asks for it gets.
type ResourceSetSpec struct {
	// resourceName is aipub.io/set-NAME.
	ResourceName string `json:"resourceName"`
	// cpu of one set.
	CPU resource.Quantity `json:"cpu"`
	// memory of one set.
	Memory resource.Quantity `json:"memory"`
	// gpu of one set; none for a CPU-only set.
	// +optional
	GPU *SetGPU `json:"gpu,omitempty"`
	// gpuUnits is its share of GPUs in 1/25200 of one, which counts percents and
	// MIG fractions exactly: 25200 for a whole GPU, 6300 for 25 percent, 3600 for
	// one of seven compute slices. Quotas on GPU-equivalents add these up. 0 for a
	// CPU-only set.
	// +optional
	GPUUnits int64 `json:"gpuUnits,omitempty"`
	// sharing of a block set.
	// +optional
	Sharing *Sharing `json:"sharing,omitempty"`
	// policies are the PartitionPolicies that define this set.
	// +listType=set
	// +optional
	Policies []string `json:"policies,omitempty"`
}

// ResourceSetStatus sums up all nodes.
type ResourceSetStatus struct {
	// total is how many exist, counted as if no other set were in use.
	// +optional
	Total int32 `json:"total"`
	// free is how many can be taken now.
	// +optional
	Free int32 `json:"free"`
	// held is how many are in use.
	// +optional
	Held int32 `json:"held"`
	// nodes are the counts of each node.
	// +listType=map
	// +listMapKey=name
	// +optional
	Nodes []SetOnNode `json:"nodes,omitempty"`
	// conditions: Ready.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// SetOnNode counts one set on one node.
type SetOnNode struct {
	// name of the node.
	Name string `json:"name"`
	// total, free and held as in the whole status.
	Total int32 `json:"total"`
	Free  int32 `json:"free"`
	Held  int32 `json:"held"`
}
