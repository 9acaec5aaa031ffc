// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/partitioner/kube"
	"aipub.io/aipub/quota/admission"
)

// addStages adds the stages of the flow: admission, then policies to sets.
func addStages(mgr ctrl.Manager, m *metrics) error {
	reviews := admission.Config{Recorder: m}
	hooks := mgr.GetWebhookServer()
	hooks.Register(admission.PathMutatePods, admission.PodMutator(mgr.GetClient(), reviews))
	hooks.Register(admission.PathValidatePods, admission.PodValidator(mgr.GetClient(), reviews))
	hooks.Register(admission.PathValidatePolicies, admission.PolicyValidator(clusterReader(mgr.GetClient()), reviews))

	return kube.NewController(mgr.GetClient(), kube.Config{
		Live:    mgr.GetAPIReader(),
		Events:  mgr.GetEventRecorder("aipub-controller"),
		Observe: m.observe,
	}).SetupWithManager(mgr)
}

// clusterReader shows admission the cluster as the policy controller sees it.
func clusterReader(reader client.Reader) admission.ClusterReaderFunc {
	return func(ctx context.Context) (admission.Cluster, error) {
		var policies v1alpha1.PartitionPolicyList
		if err := reader.List(ctx, &policies); err != nil {
			return admission.Cluster{}, fmt.Errorf("list partition policies: %w", err)
		}
		members, err := kube.ReadMembers(ctx, reader)
		if err != nil {
			return admission.Cluster{}, err
		}
		cluster := admission.Cluster{Policies: policies.Items}
		for _, m := range members {
			cluster.Nodes = append(cluster.Nodes, admission.ClusterNode(m))
		}
		return cluster, nil
	}
}
