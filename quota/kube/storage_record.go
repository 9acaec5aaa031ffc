// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"aipub.io/aipub/quota/storage"
)

// ReservationsName is the ConfigMap in which all replicas write what they admit.
const ReservationsName = "aipub-storage-reservations"

// reservationsKey is its entry that holds the record.
const reservationsKey = "record"

// StorageRecord keeps the reservations of volume claims in a ConfigMap.
type StorageRecord struct {
	client client.Client // reads from the API server
	name   client.ObjectKey
}

// NewStorageRecord makes one; c must not read from a cache.
func NewStorageRecord(c client.Client, namespace string) *StorageRecord {
	return &StorageRecord{client: c, name: client.ObjectKey{Namespace: namespace, Name: ReservationsName}}
}

// Read returns the record as it is now, and its version; an empty one where the
// ConfigMap does not exist yet.
func (r *StorageRecord) Read(ctx context.Context) (storage.Record, string, error) {
	object := &corev1.ConfigMap{}
	err := r.client.Get(ctx, r.name, object)
	if apierrors.IsNotFound(err) {
		return storage.Record{}, "", nil
	}
	if err != nil {
		return storage.Record{}, "", fmt.Errorf("read %s: %w", r.name, err)
	}
	record, err := storage.DecodeRecord(object.Data[reservationsKey])
	if err != nil {
		return storage.Record{}, "", fmt.Errorf("read %s: field data.%s is no record of this version (delete the ConfigMap if no newer controller runs): %w", r.name, reservationsKey, err)
	}
	return record, object.ResourceVersion, nil
}

// Write replaces the record of a version. The error is storage.ErrConflict where it has
// changed since.
func (r *StorageRecord) Write(ctx context.Context, record storage.Record, version string) error {
	text, err := record.Encode()
	if err != nil {
		return err
	}
	object := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: r.name.Namespace, Name: r.name.Name, ResourceVersion: version},
		Data:       map[string]string{reservationsKey: text},
	}
	if version == "" {
		err = r.client.Create(ctx, object)
	} else {
		err = r.client.Update(ctx, object)
	}
	switch {
	case apierrors.IsConflict(err), apierrors.IsAlreadyExists(err), version != "" && apierrors.IsNotFound(err):
		return errors.Join(storage.ErrConflict, err)
	case err != nil:
		return fmt.Errorf("write %s: %w", r.name, err)
	}
	return nil
}
