// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/quota"
	"aipub.io/aipub/quota/objects"
)

// A pod gets the CPU and memory of its sets when it is made, and its slices when its
// gate is open. Where a set has changed in between, the pod is given what belongs to it
// now, just before it is opened. That is a write of its own, to a pod whose gate is
// closed and whose version is known, so it is harmless whoever sends it and whenever it
// arrives: an opening that was decided on another version is a conflict.

// fit gives the pods to open what belongs to their sets now. It returns those that
// have it; the others are not open any more. whole is true where a gang must not be
// divided.
func (l *Leader) fit(ctx context.Context, sendings []sending, whole bool) ([]sending, error) {
	stale := func(s *sending) bool { return len(objects.Refills(s.fills, l.sets)) > 0 }
	if !slices.ContainsFunc(sendings, func(s sending) bool { return stale(&s) }) {
		return sendings, nil
	}
	// A cache can be older than the one that admission looked at.
	var sets api.ResourceSetList
	if err := l.client.List(ctx, &sets); err != nil {
		return nil, fmt.Errorf("list resource sets: %w", err)
	}
	specs := objects.SetSpecs(sets.Items)
	var mu sync.Mutex
	misfits, gangs := map[string]bool{}, map[string]bool{}
	l.inParallel(sendings, func(s *sending) {
		if l.resize(ctx, s, specs) {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		misfits[s.UID] = true
		gangs[s.gang] = s.gang != ""
	})
	return slices.DeleteFunc(sendings, func(s sending) bool {
		if whole && gangs[s.gang] && !misfits[s.UID] {
			l.watch.model.forgetAssumption(s.UID, time.Time{})
			return true
		}
		return misfits[s.UID]
	}), nil
}

// resize gives one pod what belongs to its sets, and reports whether it has it. Where it
// has not, it does not count as open any more.
func (l *Leader) resize(ctx context.Context, s *sending, sets map[string]*api.ResourceSetSpec) bool {
	for range tries {
		refills := objects.Refills(s.fills, sets)
		if len(refills) == 0 {
			return true
		}
		version := s.version
		pod, err := sendResize(ctx, l.client, s, refills)
		if err == nil {
			s.resized = objects.RefillWords(refills)
			l.watch.model.applyResized(pod, s.resized)
			s.take(readPod(pod, nil))
			l.event(pod, corev1.EventTypeNormal, api.ReasonSetChanged, "Resize", s.resized+"; it has that now")
			continue
		}
		if outcomeOf(err) == changed {
			still, lost := l.lookAgain(ctx, s)
			if lost == nil && !still {
				return false
			}
			if lost == nil && s.version != version {
				continue
			}
		}
		l.misfit(ctx, s, refills, err)
		return false
	}
	l.watch.model.forgetAssumption(s.UID, l.config.Clock.Now().Add(backoff))
	return false
}

// misfit says that a pod could not be given what belongs to its sets. Where the API
// server will not do it at all, a pod that is made again is asked to go, since its
// successor gets the right size; of others it is said what to do.
func (l *Leader) misfit(ctx context.Context, s *sending, refills []objects.Refill, err error) {
	l.watch.model.forgetAssumption(s.UID, l.config.Clock.Now().Add(backoff))
	logr.FromContextOrDiscard(ctx).Info("Pod was not given the present size of its sets", "pod", s.key.String(), "error", err.Error())
	if !apierrors.IsForbidden(err) && !apierrors.IsInvalid(err) && !apierrors.IsNotFound(err) && !apierrors.IsMethodNotSupported(err) {
		return
	}
	claim := quota.Claim{UID: s.UID, Namespace: s.Namespace, Name: s.Name}
	why := fmt.Sprintf("%s; the API server does not let it have that (%v)", objects.RefillWords(refills), err)
	if s.owned {
		l.replace(lostPod{claim: claim, reason: api.ReasonSetChanged, why: why})
		return
	}
	why += "; delete the pod and make it anew"
	l.sayWhy(ctx, claim, api.ReasonSetChanged, why)
	l.event(podRef(s.Namespace, s.Name, s.UID), corev1.EventTypeWarning, api.ReasonSetChanged, "Resize", why)
}

// sendResize writes the present size of the sets into a pod. The pod must still be the
// one that was looked at.
func sendResize(ctx context.Context, c client.Client, s *sending, refills []objects.Refill) (*corev1.Pod, error) {
	spec := map[string]any{}
	for _, list := range []struct {
		name string
		init bool
	}{{"initContainers", true}, {"containers", false}} {
		var containers []map[string]any
		for i := range refills {
			if r := &refills[i]; r.Init == list.init {
				size := corev1.ResourceList{corev1.ResourceCPU: r.NowCPU, corev1.ResourceMemory: r.NowMemory}
				containers = append(containers, map[string]any{
					"name": r.Container, "resources": corev1.ResourceRequirements{Limits: size, Requests: size},
				})
			}
		}
		if containers != nil {
			spec[list.name] = containers
		}
	}
	raw, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": s.UID, "resourceVersion": s.version}, "spec": spec,
	})
	if err != nil {
		return nil, fmt.Errorf("encode resize of pod %s: %w", s.key, err)
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: s.key.Namespace, Name: s.key.Name}}
	if err := c.SubResource("resize").Patch(ctx, pod, client.RawPatch(types.StrategicMergePatchType, raw)); err != nil {
		return nil, fmt.Errorf("resize pod %s: %w", s.key, err)
	}
	return pod, nil
}
