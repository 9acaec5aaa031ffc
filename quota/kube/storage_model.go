// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/quota/storage"
)

// claimStore is where the reflector puts claims: straight into the book.
type claimStore struct{ watch *StorageWatch }

// Add counts a claim.
func (s claimStore) Add(o any) error { return s.Update(o) }

// Update counts a claim as it is now.
func (s claimStore) Update(o any) error {
	pvc, ok := o.(*corev1.PersistentVolumeClaim)
	if !ok {
		return fmt.Errorf("count volume claim: got %T", o)
	}
	s.watch.mu.Lock()
	defer s.watch.mu.Unlock()
	s.watch.set(storage.ClaimOf(pvc))
	return nil
}

// Delete stops counting a claim.
func (s claimStore) Delete(o any) error {
	pvc, ok := o.(*corev1.PersistentVolumeClaim)
	if !ok {
		return fmt.Errorf("count volume claim: got %T", o)
	}
	s.watch.mu.Lock()
	defer s.watch.mu.Unlock()
	s.watch.remove(string(pvc.UID))
	return nil
}

// Replace makes a list of all claims what counts.
func (s claimStore) Replace(all []any, version string) error {
	items := make([]corev1.PersistentVolumeClaim, 0, len(all))
	for _, o := range all {
		pvc, ok := o.(*corev1.PersistentVolumeClaim)
		if !ok {
			return fmt.Errorf("count volume claims: got %T", o)
		}
		items = append(items, *pvc)
	}
	s.watch.mu.Lock()
	defer s.watch.mu.Unlock()
	s.watch.replace(items, storage.VersionOf(version))
	s.watch.listed = true
	return nil
}

// Resync does nothing: nothing is handed on.
func (claimStore) Resync() error { return nil }

// UpdateResourceVersion notes up to where everything is known. The reflector calls it
// after each change has been stored, and for bookmarks.
func (s claimStore) UpdateResourceVersion(version string) {
	s.watch.mu.Lock()
	defer s.watch.mu.Unlock()
	s.watch.version = max(s.watch.version, storage.VersionOf(version))
}

// set counts a claim unless a later state of it is known. The caller holds the lock,
// here and below.
func (w *StorageWatch) set(c storage.Claim) {
	if have, ok := w.known[c.UID]; ok && have.Version > c.Version {
		return
	}
	w.known[c.UID] = c
	w.charge(c)
	w.poke()
}

func (w *StorageWatch) remove(uid string) {
	delete(w.known, uid)
	w.book.Release(uid)
	w.poke()
}

// replace brings what is known up to a list of all claims, unless more is known
// already. What the list has not got is gone for good.
func (w *StorageWatch) replace(items []corev1.PersistentVolumeClaim, version uint64) {
	if w.listed && version < w.version {
		return
	}
	listed := make(map[string]bool, len(items))
	for i := range items {
		listed[string(items[i].UID)] = true
	}
	for _, uid := range slices.Collect(maps.Keys(w.known)) {
		if !listed[uid] {
			w.remove(uid)
		}
	}
	for i := range items {
		w.set(storage.ClaimOf(&items[i]))
	}
	w.version = max(w.version, version)
}

// charge enters a claim with its owner. Claims without a stamp are older than the
// project: they count to it and to nobody. A namespace that is not known yet may be
// managed; what admission stamped there counts.
func (w *StorageWatch) charge(c storage.Claim) {
	project, known := w.namespaces[c.Namespace]
	if known && project == "" || slices.Contains(w.never, c.Namespace) {
		w.book.Withdraw(c.UID)
		return
	}
	if c.Owner.Project == "" {
		c.Owner = storage.Owner{Project: project}
	}
	if c.Owner.Project == "" {
		w.book.Withdraw(c.UID)
		return
	}
	w.book.Charge(c)
}

func (w *StorageWatch) setNamespace(o client.Object) {
	w.mu.Lock()
	defer w.mu.Unlock()
	name, project := o.GetName(), o.GetLabels()[api.ProjectLabel]
	if was, known := w.namespaces[name]; known && was == project {
		return
	}
	w.namespaces[name] = project
	w.recharge(name)
}

func (w *StorageWatch) dropNamespace(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.namespaces, name)
	w.recharge(name)
}

func (w *StorageWatch) recharge(namespace string) {
	for _, claims := range []map[string]storage.Claim{w.known, w.saved} {
		for _, c := range claims {
			if c.Namespace == namespace {
				w.charge(c)
			}
		}
	}
	w.poke()
}

func (w *StorageWatch) setQuota(o client.Object) {
	q, ok := o.(*api.StorageQuota)
	if !ok {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	was, known := w.quotas[q.Name]
	w.quotas[q.Name] = *q.DeepCopy()
	if !known || was.Generation != q.Generation || was.UID != q.UID {
		w.enforce()
	}
}

func (w *StorageWatch) dropQuota(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.quotas, name)
	w.enforce()
}

// enforce has the book follow the quotas. A change of a status alone, which is our own,
// changes nothing.
func (w *StorageWatch) enforce() {
	w.book.SetQuotas(slices.Collect(maps.Values(w.quotas)))
	w.poke()
}
