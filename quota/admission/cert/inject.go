// SPDX-License-Identifier: Apache-2.0

package cert

import (
	"bytes"
	"context"
	"fmt"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// inject gives the authorities to both webhook configurations. It sends a patch
// of caBundle alone, and only where it differs.
func (k *Keeper) inject(ctx context.Context, authorities []byte) error {
	var mutating admissionregistrationv1.MutatingWebhookConfiguration
	err := k.injectInto(ctx, &mutating, authorities, func() (configs []*admissionregistrationv1.WebhookClientConfig) {
		for i := range mutating.Webhooks {
			configs = append(configs, &mutating.Webhooks[i].ClientConfig)
		}
		return configs
	})
	if err != nil {
		return fmt.Errorf("trust in mutating webhook configuration %s: %w", k.config.Configuration, err)
	}
	var validating admissionregistrationv1.ValidatingWebhookConfiguration
	err = k.injectInto(ctx, &validating, authorities, func() (configs []*admissionregistrationv1.WebhookClientConfig) {
		for i := range validating.Webhooks {
			configs = append(configs, &validating.Webhooks[i].ClientConfig)
		}
		return configs
	})
	if err != nil {
		return fmt.Errorf("trust in validating webhook configuration %s: %w", k.config.Configuration, err)
	}
	return nil
}

// injectInto reads one configuration and patches it where needed. clients are
// the places of the authorities in it, once it was read.
func (k *Keeper) injectInto(ctx context.Context, object client.Object, authorities []byte,
	clients func() []*admissionregistrationv1.WebhookClientConfig) error {
	err := k.client.Get(ctx, client.ObjectKey{Name: k.config.Configuration}, object)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read: %w", err)
	}
	before, ok := object.DeepCopyObject().(client.Object)
	if !ok {
		return fmt.Errorf("copy %T: not an object", object)
	}
	changed := false
	for _, c := range clients() {
		if !bytes.Equal(c.CABundle, authorities) {
			c.CABundle, changed = authorities, true
		}
	}
	if !changed {
		return nil
	}
	if err := k.client.Patch(ctx, object, client.StrategicMergeFrom(before)); err != nil {
		return fmt.Errorf("patch: %w", err)
	}
	return nil
}
