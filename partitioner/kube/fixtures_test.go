// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "aipub.io/aipub/api/v1alpha1"
)

var noon = metav1.NewTime(time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC))

// makeNode is a ready node of a pool with 64 CPUs and 512Gi.
func makeNode(name, pool string) corev1.Node {
	return corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"aipub.io/pool": pool}},
		Status: corev1.NodeStatus{
			Allocatable: corev1.ResourceList{
				corev1.ResourceCPU: resource.MustParse("64"), corev1.ResourceMemory: resource.MustParse("512Gi"),
			},
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
		},
	}
}

// makePartition is the report of a node with some whole H200.
func makePartition(node string, gpus int) api.NodePartition {
	p := api.NodePartition{ObjectMeta: metav1.ObjectMeta{Name: node}}
	p.Status.AgentVersion = "test"
	p.Status.Models = []api.GPUModel{{Name: "NVIDIA H200", Memory: resource.MustParse("141Gi")}}
	for i := range gpus {
		p.Status.GPUs = append(p.Status.GPUs, api.NodeGPU{
			Index: int32(i), Minor: int32(i), UUID: fmt.Sprintf("GPU-%s-%d", node, i), Model: "NVIDIA H200", Health: api.Health{OK: true},
		})
	}
	return p
}

// applied marks a report as carrying out a policy.
func applied(p api.NodePartition, policy string, sets ...api.SetOnNode) api.NodePartition {
	p.Status.Policy, p.Status.PolicyGeneration, p.Status.Sets = policy, 1, sets
	meta.SetStatusCondition(&p.Status.Conditions, metav1.Condition{Type: api.ConditionReady, Status: metav1.ConditionTrue, Reason: api.ReasonApplied})
	return p
}

// makePolicy selects a pool; its age is in minutes.
func makePolicy(name, pool string, age int, sets ...api.SetTemplate) api.PartitionPolicy {
	return api.PartitionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: name, Generation: 1, CreationTimestamp: metav1.NewTime(noon.Add(-time.Duration(age) * time.Minute))},
		Spec: api.PartitionPolicySpec{
			NodeSelector: metav1.LabelSelector{MatchLabels: map[string]string{"aipub.io/pool": pool}},
			Sets:         sets,
		},
	}
}

func whole(name string, count int32) api.SetTemplate {
	return api.SetTemplate{Name: name, GPU: &api.SetGPU{Count: &count}}
}

// makeSet is a ResourceSet as an earlier round left it.
func makeSet(name, cpu, memory string, policies ...string) api.ResourceSet {
	return api.ResourceSet{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: api.ResourceSetSpec{
		ResourceName: api.ResourcePrefix + name, CPU: resource.MustParse(cpu), Memory: resource.MustParse(memory), Policies: policies,
	}}
}

func ready(conditions []metav1.Condition) string {
	c := meta.FindStatusCondition(conditions, api.ConditionReady)
	if c == nil {
		return "none"
	}
	return string(c.Status) + " " + c.Reason
}
