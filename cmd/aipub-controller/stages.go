// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"

	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/partitioner/kube"
	"aipub.io/aipub/quota/admission"
	quotakube "aipub.io/aipub/quota/kube"
)

// addStages adds the stages of the flow: admission, then the gates that it sets,
// then Workspaces and who gives back, then policies to sets.
func addStages(mgr ctrl.Manager, o *options, m *metrics) error {
	kinds, err := admission.ParseKinds(o.stampedKinds)
	if err != nil {
		return err
	}
	watch, err := quotakube.NewWatch(mgr.GetConfig(), mgr.GetScheme(), mgr.GetEventRecorder("aipub-controller"), kinds.Further()...)
	if err != nil {
		return fmt.Errorf("watch pods and quotas: %w", err)
	}
	if err := addAdmission(mgr, o, ledger{watch}, admission.Config{Recorder: m}); err != nil {
		return err
	}
	if err := addGates(mgr, o, watch, m); err != nil {
		return err
	}
	if err := addStorage(mgr, o, m); err != nil {
		return err
	}
	if err := addReclaim(mgr, o, m); err != nil {
		return fmt.Errorf("add reclaim: %w", err)
	}
	return kube.NewController(mgr.GetClient(), kube.Config{
		Live:    mgr.GetAPIReader(),
		Events:  mgr.GetEventRecorder("aipub-controller"),
		Observe: m.observe,
		Charged: watch.Charged,
	}).SetupWithManager(mgr)
}

// addGates has every replica know what is charged, and the leader open gates.
func addGates(mgr ctrl.Manager, o *options, watch *quotakube.Watch, m *metrics) error {
	// The loop waits for each answer, so nothing but the server itself need limit it.
	config := rest.CopyConfig(mgr.GetConfig())
	config.QPS = -1
	direct, err := client.New(config, client.Options{Scheme: mgr.GetScheme()})
	if err != nil {
		return fmt.Errorf("make client: %w", err)
	}
	host, err := os.Hostname()
	if err != nil {
		return fmt.Errorf("name this process: %w", err)
	}
	if err := mgr.Add(watch); err != nil {
		return fmt.Errorf("add watch of pods and quotas: %w", err)
	}
	leader := quotakube.NewLeader(watch, quotakube.Config{
		Namespace: o.namespace, Holder: host + "_" + string(uuid.NewUUID()), Client: direct,
		Events: mgr.GetEventRecorder("aipub-controller"), Observe: m.opened,
	})
	if err := mgr.Add(leader); err != nil {
		return fmt.Errorf("add leader of the gates: %w", err)
	}
	synced := func(*http.Request) error {
		if !watch.Synced() {
			return errors.New("sync caches: not all pods and quotas are known yet")
		}
		return nil
	}
	if err := mgr.AddReadyzCheck("quotas", synced); err != nil {
		return fmt.Errorf("add readiness check quotas: %w", err)
	}
	return nil
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
		admission.PathStampNotes:        admission.NoteStamper(identity, reviews),
		admission.PathValidatePods:      admission.PodValidator(mgr.GetClient(), ledger, reviews),
		admission.PathValidateWorkloads: admission.WorkloadValidator(mgr.GetClient(), ledger, reviews),
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
