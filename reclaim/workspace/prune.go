// SPDX-License-Identifier: Apache-2.0

package workspace

import (
	"slices"

	api "aipub.io/aipub/api/v1alpha1"
)

// keptFailures is how many failed snapshots stay to be looked at.
const keptFailures = 3

// prune drops snapshots that nobody needs: all but the one that it would start from,
// the one of the pause under way, those that an agent works on, and the latest that
// failed. Nothing is dropped before what replaces it is saved and noted.
func (s *Seen) prune(p *Plan) {
	var failed []api.WorkspaceSnapshot
	for _, w := range s.Snapshots {
		switch {
		case !w.DeletionTimestamp.IsZero(), open(&w) && w.Name != p.Lost, needed(p.Status, w.Name):
		case w.Status.Phase == api.SnapshotFailed || w.Name == p.Lost:
			failed = append(failed, w)
		case noted(s.Workspace.Status, p.Status):
			p.Prune = append(p.Prune, w.Name)
		}
	}
	slices.SortFunc(failed, func(a, b api.WorkspaceSnapshot) int {
		return b.CreationTimestamp.Compare(a.CreationTimestamp.Time)
	})
	for i, w := range failed {
		if i >= keptFailures {
			p.Prune = append(p.Prune, w.Name)
		}
	}
	slices.Sort(p.Prune)
}

func needed(status api.WorkspaceStatus, name string) bool {
	return status.Saved != nil && status.Saved.Snapshot == name || status.Pause != nil && status.Pause.Snapshot == name
}

// noted reports whether what was saved last stands in the Workspace already.
func noted(was, is api.WorkspaceStatus) bool {
	if was.Saved == nil || is.Saved == nil {
		return was.Saved == is.Saved
	}
	return was.Saved.Snapshot == is.Saved.Snapshot
}
