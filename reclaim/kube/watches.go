// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/reclaim"
)

// watches are what nodes and notebook servers saw of a workload's work.
func (e *Engine) watches(ctx context.Context, c Case, pods []*corev1.Pod) ([]reclaim.Watch, error) {
	var out []reclaim.Watch
	seen, unseen, err := activity(ctx, e.reader, pods)
	if err != nil {
		return nil, err
	}
	for i := range seen {
		out = append(out, reclaim.OfSlice(&seen[i]))
	}
	if unseen {
		out = append(out, reclaim.Watch{})
	}
	if c.Jupyter != nil {
		for _, p := range pods {
			out = append(out, e.kernels(ctx, c, p))
		}
	}
	return out, nil
}

// kernels is what a pod's notebook server says. Its own times say when work was, so one
// good answer covers all the time that the server has run.
func (e *Engine) kernels(ctx context.Context, c Case, p *corev1.Pod) reclaim.Watch {
	blind := reclaim.Watch{Since: boundAt(p), At: e.Now(), Unknown: []api.IdleSignal{api.IdleKernel}}
	if e.config.Jupyter == nil || p.Status.PodIP == "" {
		return blind
	}
	token, err := e.token(ctx, c)
	if err != nil {
		return blind
	}
	k := e.config.Jupyter.Of(ctx, jupyterAddress(p.Status.PodIP, c.Jupyter.Port, c.Jupyter.BasePath), token)
	if k.Err != nil {
		return blind
	}
	w := reclaim.Watch{Since: serverSince(p), At: k.At}
	if !k.ActiveAt.IsZero() {
		w.Active = map[api.IdleSignal]time.Time{api.IdleKernel: k.ActiveAt}
	}
	return w
}

// serverSince is when the container that serves now began: what was before it, its
// server does not know.
func serverSince(p *corev1.Pod) time.Time {
	since := boundAt(p)
	for _, s := range p.Status.ContainerStatuses {
		if s.State.Running != nil && s.State.Running.StartedAt.After(since) {
			since = s.State.Running.StartedAt.Time
		}
	}
	return since
}

// token is what the notebook server asks for, as far as it may be read.
func (e *Engine) token(ctx context.Context, c Case) (string, error) {
	key := c.Jupyter.Token
	if key == nil {
		return "", nil
	}
	if e.config.Secrets == nil {
		return "", errors.New("read token: no secrets are read")
	}
	s := &corev1.Secret{}
	if err := e.config.Secrets.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: key.Name}, s); err != nil {
		return "", fmt.Errorf("read token: %w", err)
	}
	return string(s.Data[key.Key]), nil
}
