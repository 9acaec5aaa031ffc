// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion is the API group and version of every kind in this package.
var GroupVersion = schema.GroupVersion{Group: "aipub.io", Version: "v1alpha1"}

// AddToScheme registers the kinds of this package.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(GroupVersion,
		&PartitionPolicy{}, &PartitionPolicyList{},
		&ResourceSet{}, &ResourceSetList{},
		&NodePartition{}, &NodePartitionList{},
		&ResourceSetQuota{}, &ResourceSetQuotaList{},
		&StorageQuota{}, &StorageQuotaList{},
		&PriorityQueue{}, &PriorityQueueList{},
		&Workspace{}, &WorkspaceList{},
		&WorkspaceSnapshot{}, &WorkspaceSnapshotList{},
		&ReclaimPolicy{}, &ReclaimPolicyList{},
	)
	metav1.AddToGroupVersion(s, GroupVersion)
	return nil
}
