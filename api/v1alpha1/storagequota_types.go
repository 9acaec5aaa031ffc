// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// StorageQuota limits the volumes that a project, a person, or each person of a
// project has claimed. A claim counts with what it requests or what it was given,
// whichever is larger.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=stq,categories=aipub
// +kubebuilder:printcolumn:name="Project",type=string,JSONPath=`.spec.scope.project`
// +kubebuilder:printcolumn:name="User",type=string,JSONPath=`.spec.scope.user`
// +kubebuilder:printcolumn:name="Each",type=boolean,JSONPath=`.spec.scope.eachUser`
// +kubebuilder:printcolumn:name="Total",type=string,JSONPath=`.spec.limits.total`
// +kubebuilder:printcolumn:name="Used",type=string,JSONPath=`.status.used.total`
// +kubebuilder:printcolumn:name="Volumes",type=integer,JSONPath=`.status.used.volumes`
// +kubebuilder:printcolumn:name="Over",type=string,JSONPath=`.status.conditions[?(@.type=="OverQuota")].status`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
type StorageQuota struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec StorageQuotaSpec `json:"spec"`
	// +optional
	Status StorageQuotaStatus `json:"status,omitempty"`
}

// StorageQuotaList is a list of storage quotas.
//
// +kubebuilder:object:root=true
type StorageQuotaList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []StorageQuota `json:"items"`
}

// StorageQuotaSpec is whom a quota binds, and to what.
type StorageQuotaSpec struct {
	Scope QuotaScope `json:"scope"`
	// limits; what is not named is not limited.
	Limits StorageLimits `json:"limits"`
}

// StorageLimits are amounts that may be claimed at once.
type StorageLimits struct {
	// total of all claims.
	// +kubebuilder:validation:XValidation:rule="quantity(string(self)).compareTo(quantity('0')) >= 0",message="total must be 0 or more"
	// +optional
	Total *resource.Quantity `json:"total,omitempty"`
	// perStorageClass limits the claims of each StorageClass, by its name.
	// +kubebuilder:validation:MaxProperties=64
	// +optional
	PerStorageClass map[string]resource.Quantity `json:"perStorageClass,omitempty"`
	// volumes is how many claims.
	// +kubebuilder:validation:Minimum=0
	// +optional
	Volumes *int32 `json:"volumes,omitempty"`
}

// StorageQuotaStatus is what is claimed.
type StorageQuotaStatus struct {
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// used is what claims that exist count for.
	// +optional
	Used StorageAmounts `json:"used,omitempty"`
	// reserved is what was admitted a moment ago and has not been seen yet.
	// +optional
	Reserved StorageAmounts `json:"reserved,omitempty"`
	// users splits used by person, most first, at most 100.
	// +listType=map
	// +listMapKey=user
	// +optional
	Users []UserStorage `json:"users,omitempty"`
	// conditions: Ready, OverQuota.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// StorageAmounts sums claims.
type StorageAmounts struct {
	// +optional
	Total *resource.Quantity `json:"total,omitempty"`
	// +optional
	PerStorageClass map[string]resource.Quantity `json:"perStorageClass,omitempty"`
	// +optional
	Volumes int32 `json:"volumes,omitempty"`
}

// UserStorage is one person's part.
type UserStorage struct {
	User string `json:"user"`
	// +optional
	Used StorageAmounts `json:"used,omitempty"`
}
