// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/utils/ptr"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/reclaim"
	"aipub.io/aipub/reclaim/workspace"
)

// Step is how a Workspace's own controller asks; see [workspace.Reclaimer].
func (e *Engine) Step(ctx context.Context, w *api.Workspace, pod *corev1.Pod) (workspace.Verdict, error) {
	c := workspaceCase(w, pod)
	d, rules, err := e.Decide(ctx, c)
	if err != nil {
		return workspace.Verdict{}, err
	}
	v := workspace.Verdict{
		Pause:      d.Pause,
		DropExtend: d.DropExtend,
		Save:       workspace.SaveTerms{Mode: rules.Save, MaxBytes: rules.MaxSaveBytes},
		After:      e.again(c, d, rules),
	}
	if !equality.Semantic.DeepEqual(d.Occupancy, api.Occupancy{}) {
		v.Occupancy = &d.Occupancy
	}
	v.SaveFailed = func(text string) {
		terms := rules.LimitTerms
		if w.Status.Pause != nil && w.Status.Pause.Reason == api.ReasonIdle {
			terms = rules.IdleTerms
		}
		e.post(c, api.ReasonSaveFailed, reclaim.Notice{Deadline: reclaim.Deadline{Policy: terms.Policy}, Text: c.String() + ": " + text, Notify: terms.Notify})
	}
	if d.Pause != nil {
		v.Told = func() { e.Paused(c, d, rules) }
	}
	return v, nil
}

func workspaceCase(w *api.Workspace, pod *corev1.Pod) Case {
	c := Case{
		Workload:  reclaim.Workload{Kind: "Workspace", Namespace: w.Namespace, Name: w.Name},
		Object:    w,
		Occupancy: ptr.Deref(w.Status.Occupancy, api.Occupancy{}),
		Paused:    w.Status.Pause != nil && w.Status.Pause.FreedAt != nil,
		Pausing:   w.Spec.Paused,
	}
	if pod != nil {
		c.Pods = []*corev1.Pod{pod}
	}
	if w.Spec.Activity != nil {
		c.Jupyter = w.Spec.Activity.Jupyter
	}
	return c
}
