// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"aipub.io/aipub/partitioner/kube"
	"aipub.io/aipub/quota/admission"
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
	return kube.NewCleaner(api, kube.CleanupConfig{
		WebhookConfiguration: admission.ConfigurationName,
		Lease:                client.ObjectKey{Namespace: namespace, Name: leaseName},
		Progress:             progress,
	}).Run(ctx)
}
