// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"aipub.io/aipub/quota/admission"
	"aipub.io/aipub/quota/admission/claims"
	quotakube "aipub.io/aipub/quota/kube"
)

// addStorage has every replica admit volume claims by the storage quotas, and the
// leader look after reservations and statuses.
func addStorage(mgr ctrl.Manager, o *options, m *metrics) error {
	reviews := admission.Config{Recorder: m}
	watch, err := quotakube.NewStorageWatch(mgr.GetConfig(), mgr.GetCache(), mgr.GetScheme(), metav1.NamespaceSystem, o.namespace)
	if err != nil {
		return fmt.Errorf("watch volume claims and storage quotas: %w", err)
	}
	// Several claims share a write, and each write is waited for: that is limit enough.
	config := rest.CopyConfig(mgr.GetConfig())
	config.QPS = -1
	direct, err := client.New(config, client.Options{Scheme: mgr.GetScheme()})
	if err != nil {
		return fmt.Errorf("make client: %w", err)
	}
	record := quotakube.NewStorageRecord(direct, o.namespace)
	ledger := claims.NewLedger(watch, record, time.Now)
	mgr.GetWebhookServer().Register(admission.PathValidateClaims, admission.ClaimValidator(direct, ledger, reviews))
	if err := mgr.Add(watch); err != nil {
		return fmt.Errorf("add watch of volume claims: %w", err)
	}
	leader := quotakube.NewStorageLeader(watch, record, direct, clock.RealClock{})
	leader.Observe = m.storage.observe
	if err := mgr.Add(leader); err != nil {
		return fmt.Errorf("add leader of storage quotas: %w", err)
	}
	synced := func(*http.Request) error {
		if !watch.Synced() {
			return errors.New("sync caches: not all volume claims and storage quotas are known yet")
		}
		return nil
	}
	if err := mgr.AddReadyzCheck("storage", synced); err != nil {
		return fmt.Errorf("add readiness check storage: %w", err)
	}
	return nil
}

// deleteReservations deletes what the replicas wrote of claims just admitted.
func deleteReservations(ctx context.Context, api client.Client, namespace string, progress io.Writer) error {
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: quotakube.ReservationsName}}
	err := api.Delete(ctx, object)
	switch {
	case err == nil:
		_, _ = fmt.Fprintf(progress, "deleted ConfigMap %s/%s\n", namespace, object.Name)
	case client.IgnoreNotFound(err) != nil:
		return fmt.Errorf("delete ConfigMap %s/%s: %w", namespace, object.Name, err)
	}
	return nil
}
