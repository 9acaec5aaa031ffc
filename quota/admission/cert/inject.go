// SPDX-License-Identifier: Apache-2.0

package cert

import (
	"bytes"
	"context"
	"fmt"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// inject gives the authorities to both webhook configurations. It sends a patch
// of caBundle alone, and only where it differs.
func (k *Keeper) inject(ctx context.Context, authorities []byte) error {
	key := client.ObjectKey{Name: k.config.Configuration}

	var mutating admissionregistrationv1.MutatingWebhookConfiguration
	if err := k.client.Get(ctx, key, &mutating); err == nil {
		before := mutating.DeepCopy()
		changed := false
		for i := range mutating.Webhooks {
			changed = trust(&mutating.Webhooks[i].ClientConfig, authorities) || changed
		}
		if changed {
			if err := k.client.Patch(ctx, &mutating, client.StrategicMergeFrom(before)); err != nil {
				return fmt.Errorf("patch mutating webhook configuration %s: %w", key.Name, err)
			}
		}
	} else if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("read mutating webhook configuration %s: %w", key.Name, err)
	}

	var validating admissionregistrationv1.ValidatingWebhookConfiguration
	if err := k.client.Get(ctx, key, &validating); err == nil {
		before := validating.DeepCopy()
		changed := false
		for i := range validating.Webhooks {
			changed = trust(&validating.Webhooks[i].ClientConfig, authorities) || changed
		}
		if changed {
			if err := k.client.Patch(ctx, &validating, client.StrategicMergeFrom(before)); err != nil {
				return fmt.Errorf("patch validating webhook configuration %s: %w", key.Name, err)
			}
		}
	} else if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("read validating webhook configuration %s: %w", key.Name, err)
	}
	return nil
}

func trust(config *admissionregistrationv1.WebhookClientConfig, authorities []byte) bool {
	if bytes.Equal(config.CABundle, authorities) {
		return false
	}
	config.CABundle = authorities
	return true
}
