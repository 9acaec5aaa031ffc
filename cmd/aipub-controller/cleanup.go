// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"aipub.io/aipub/partitioner/kube"
	"aipub.io/aipub/quota/admission"
	quotakube "aipub.io/aipub/quota/kube"
	"aipub.io/aipub/reclaim/workspace"
)

// leaseName is the Lease of the leader election, in the controller's namespace.
const leaseName = "aipub-controller"

// runCleanup takes AIPub's traces off the cluster.
func runCleanup(ctx context.Context, c connection, namespace string, progress io.Writer) error {
	config, err := c.restConfig()
	if err != nil {
		return err
	}
	api, err := client.New(config, client.Options{Scheme: newScheme()})
	if err != nil {
		return fmt.Errorf("make client: %w", err)
	}
	// First nothing makes new gates any more, then those that are there are opened:
	// nobody must wait for a controller that is gone.
	if err := deleteWebhooks(ctx, api, progress); err != nil {
		return err
	}
	fence := client.ObjectKey{Namespace: namespace, Name: quotakube.FenceName}
	if err := quotakube.OpenAll(ctx, api, fence, progress); err != nil {
		return err
	}
	if err := deleteReservations(ctx, api, namespace, progress); err != nil {
		return err
	}
	// One that somebody's webhook does not let go holds up nothing else.
	return errors.Join(workspace.ReleaseAll(ctx, api, progress), kube.NewCleaner(api, kube.CleanupConfig{
		WebhookConfiguration: admission.ConfigurationName,
		Lease:                client.ObjectKey{Namespace: namespace, Name: leaseName},
		Progress:             progress,
	}).Run(ctx))
}

// deleteWebhooks deletes our webhook configurations; those that are not there are
// fine.
func deleteWebhooks(ctx context.Context, api client.Client, progress io.Writer) error {
	name := metav1.ObjectMeta{Name: admission.ConfigurationName}
	for kind, object := range map[string]client.Object{
		"MutatingWebhookConfiguration":   &admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: name},
		"ValidatingWebhookConfiguration": &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: name},
	} {
		err := api.Delete(ctx, object)
		switch {
		case err == nil:
			_, _ = fmt.Fprintf(progress, "deleted %s %s\n", kind, object.GetName())
		case client.IgnoreNotFound(err) != nil:
			return fmt.Errorf("delete %s %s: %w", kind, object.GetName(), err)
		}
	}
	return nil
}
