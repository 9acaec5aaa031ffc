// SPDX-License-Identifier: Apache-2.0

package workspace

import (
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	api "aipub.io/aipub/api/v1alpha1"
)

// Seen is a Workspace and what there is of it in the cluster.
type Seen struct {
	Workspace *api.Workspace
	// Runner is its StatefulSet, and Pod the one that it made; nil where there is
	// none. A pod that has ended counts until it is gone.
	Runner *appsv1.StatefulSet
	Pod    *corev1.Pod
	// Taken is true when a StatefulSet of its name belongs to another.
	Taken bool
	// Claim is its home; nil where it has none, or not yet.
	Claim *corev1.PersistentVolumeClaim
	// Snapshots are its own, in no order.
	Snapshots []api.WorkspaceSnapshot
	// NodeGone is true when the node of the pod is not in the cluster any more, and
	// SavedNodeGone the same for the node that has the saved file system.
	NodeGone, SavedNodeGone bool
	// Save is what the ReclaimPolicies ask to be saved.
	Save SaveTerms
	// Now is the time on the clock of the controller.
	Now time.Time
}

// SaveTerms are what is saved before a pause.
type SaveTerms struct {
	Mode api.SaveMode
	// MaxBytes is the most that is saved; 0 is no bound.
	MaxBytes int64
}

// wanted says what is saved of it: Commit, where it or a policy says so.
func (s *Seen) wanted() (commit bool) {
	return s.Workspace.Spec.Save == api.SaveCommit || s.Save.Mode == api.SaveCommit
}

// snapshot is the one with a name, or nil.
func (s *Seen) snapshot(name string) *api.WorkspaceSnapshot {
	for i := range s.Snapshots {
		if name != "" && s.Snapshots[i].Name == name {
			return &s.Snapshots[i]
		}
	}
	return nil
}

// bound reports whether the pod has its set: it is on a node.
func bound(p *corev1.Pod) bool { return p != nil && p.Spec.NodeName != "" }

// started reports whether the container runs, so that it has something to save.
func started(p *corev1.Pod) bool {
	return bound(p) && len(p.Status.ContainerStatuses) > 0 && p.Status.ContainerStatuses[0].State.Running != nil
}

func ready(p *corev1.Pod) bool {
	return conditionOf(p, corev1.PodReady).Status == corev1.ConditionTrue
}

// conditionOf is a condition of a pod, or an empty one.
func conditionOf(p *corev1.Pod, kind corev1.PodConditionType) corev1.PodCondition {
	if p != nil {
		for _, c := range p.Status.Conditions {
			if c.Type == kind {
				return c
			}
		}
	}
	return corev1.PodCondition{}
}

// stopped reports whether nothing makes a pod of it, or keeps one.
func (s *Seen) stopped() bool {
	if s.Runner == nil {
		return s.Pod == nil
	}
	return s.Runner.Spec.Replicas != nil && *s.Runner.Spec.Replicas == 0
}

// resumes reports whether it was paused and shall run again, as opposed to a pause that
// is called off before anything was stopped.
func (s *Seen) resumes() bool {
	return !s.Workspace.Spec.Paused && s.Workspace.Status.Pause != nil && s.stopped()
}

// gone reports whether no pod of it is left, nor will be made.
func (s *Seen) gone() bool {
	if s.Pod != nil || !s.stopped() {
		return false
	}
	return s.Runner == nil || s.Runner.Status.ObservedGeneration >= s.Runner.Generation && s.Runner.Status.Replicas == 0
}
