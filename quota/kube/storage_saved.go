// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/quota/storage"
)

// setSnapshot counts what is saved of a Workspace. Nobody asks before it is saved, so it
// can lead above a limit; then nothing new fits.
func (w *StorageWatch) setSnapshot(o client.Object) {
	s, ok := o.(*api.WorkspaceSnapshot)
	if !ok {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	c, counts := storage.SavedOf(s)
	before, counted := w.saved[c.UID]
	switch {
	case counts && before == c, !counts && !counted:
		return
	case counts:
		w.saved[c.UID] = c
		w.charge(c)
	default:
		delete(w.saved, c.UID)
		w.book.Withdraw(c.UID)
	}
	w.poke()
}

func (w *StorageWatch) dropSnapshot(o client.Object) {
	w.mu.Lock()
	defer w.mu.Unlock()
	uid := string(o.GetUID())
	delete(w.saved, uid)
	w.book.Release(uid)
	w.poke()
}
