// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 is what users and the cluster see: the kinds of API group
// aipub.io/v1alpha1, and the labels, annotations and resource names that go
// with them. It imports nothing but apimachinery.
//
// +kubebuilder:object:generate=true
// +groupName=aipub.io
package v1alpha1
