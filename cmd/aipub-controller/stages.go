// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"net/http"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/partitioner/kube"
	"aipub.io/aipub/quota/admission"
)

// addStages adds the stages of the flow: admission, then policies to sets.
func addStages(mgr ctrl.Manager, o *options, m *metrics) error {
	if err := addAdmission(mgr, o, nil, admission.Config{Recorder: m}); err != nil {
		return err
	}

	return kube.NewController(mgr.GetClient(), kube.Config{
		Live:    mgr.GetAPIReader(),
		Events:  mgr.GetEventRecorder("aipub-controller"),
		Observe: m.observe,
	}).SetupWithManager(mgr)
}

// addAdmission serves the webhooks. ledger says whether more fits the quotas; nil
// refuses nothing.
func addAdmission(mgr ctrl.Manager, o *options, ledger admission.Ledger, reviews admission.Config) error {
	kinds, err := admission.ParseKinds(o.stampedKinds)
	if err != nil {
		return err
	}
	identity := admission.NewIdentity(mgr.GetClient(), mgr.GetAPIReader(), admission.AccessReviews(mgr.GetClient()), admission.IdentityConfig{
		Trusted: o.trusted(), Controller: admission.ControllerUser(o.namespace), Kinds: kinds,
	})
	for _, object := range identity.Watched() {
		if _, err := mgr.GetCache().GetInformer(context.Background(), object); err != nil {
			return fmt.Errorf("watch %s: %w", object.GetObjectKind().GroupVersionKind().Kind, err)
		}
	}
	for path, hook := range map[string]http.Handler{
		admission.PathMutatePods:        admission.PodMutator(mgr.GetClient(), identity, reviews),
		admission.PathStamp:             admission.Stamper(identity, reviews),
		admission.PathStampRank:         admission.RankStamper(reviews),
		admission.PathValidatePods:      admission.PodValidator(mgr.GetClient(), ledger, reviews),
		admission.PathValidateWorkloads: admission.WorkloadValidator(ledger, reviews),
		admission.PathValidateScale:     admission.ScaleValidator(mgr.GetAPIReader(), ledger, reviews),
		admission.PathValidatePolicies:  admission.PolicyValidator(clusterReader(mgr.GetClient()), reviews),
	} {
		mgr.GetWebhookServer().Register(path, hook)
	}
	return nil
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
