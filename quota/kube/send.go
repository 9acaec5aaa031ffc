// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/quota/objects"
)

// sending is one opening, ready to be sent.
type sending struct {
	intent
	key      client.ObjectKey
	version  string
	gates    []corev1.PodSchedulingGate
	owned    bool
	affinity *corev1.NodeAffinity
	// fills are what its containers were given for their sets; resized says what of it
	// has been changed.
	fills   []objects.Fill
	resized string
	// gang is the UID of its workload where that starts together; else empty.
	gang string
}

// take has a sending go to a pod as it is now.
func (s *sending) take(e *entry) {
	s.version, s.gates, s.affinity, s.fills = e.version, e.gates, e.affinity, e.Fills
}

// outcome is what came of a request.
type outcome int

const (
	done    outcome = iota
	changed         // the pod is not any more what it was; nothing was written
	refused         // the API server will not do it; nothing was written
	unknown         // it may have been carried out, or may yet be
	stands          // the pod changed, and the decision about it still stands
)

// requestTimeout bounds one request; what takes longer is of unknown outcome.
const requestTimeout = 10 * time.Second

// patch takes our gate off, and says where the pod goes. The pod must still be the
// one that was decided on: another UID or resourceVersion is a conflict.
func (s *sending) patch() ([]byte, error) {
	rest := []corev1.PodSchedulingGate{}
	for _, g := range s.gates {
		if g.Name != api.QuotaGate {
			rest = append(rest, g)
		}
	}
	spec := map[string]any{"schedulingGates": rest}
	if s.Node != "" {
		spec["affinity"] = map[string]any{"nodeAffinity": s.pinned()}
	}
	annotations := map[string]any{api.OpenedAnnotation: string(s.Grade)}
	if s.Node != "" {
		annotations[api.NodeAnnotation] = s.Node
	}
	raw, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": s.UID, "resourceVersion": s.version, "annotations": annotations},
		"spec":     spec,
	})
	if err != nil {
		return nil, fmt.Errorf("encode patch of pod %s: %w", s.key, err)
	}
	return raw, nil
}

// pinned is the part of the pod's node affinity that changes. Where a controller
// makes the pod again, the node is required; else it is preferred, and the pod can
// go elsewhere should the node be lost.
func (s *sending) pinned() map[string]any {
	here := corev1.NodeSelectorRequirement{Key: metav1.ObjectNameField, Operator: corev1.NodeSelectorOpIn, Values: []string{s.Node}}
	was := s.affinity
	if was == nil {
		was = &corev1.NodeAffinity{}
	}
	if !s.owned {
		preferred := append([]corev1.PreferredSchedulingTerm{}, was.PreferredDuringSchedulingIgnoredDuringExecution...)
		return map[string]any{"preferredDuringSchedulingIgnoredDuringExecution": append(preferred, corev1.PreferredSchedulingTerm{
			Weight: 100, Preference: corev1.NodeSelectorTerm{MatchFields: []corev1.NodeSelectorRequirement{here}},
		})}
	}
	var terms []corev1.NodeSelectorTerm
	if required := was.RequiredDuringSchedulingIgnoredDuringExecution; required != nil {
		terms = required.NodeSelectorTerms
	}
	out := make([]corev1.NodeSelectorTerm, 0, len(terms)+1)
	for _, t := range terms {
		t = *t.DeepCopy()
		// One term is enough to match, so each gets the node. An empty one matches
		// nothing and must go on doing so.
		if len(t.MatchExpressions)+len(t.MatchFields) > 0 {
			t.MatchFields = append(t.MatchFields, here)
		}
		out = append(out, t)
	}
	if len(terms) == 0 {
		out = append(out, corev1.NodeSelectorTerm{MatchFields: []corev1.NodeSelectorRequirement{here}})
	}
	return map[string]any{"requiredDuringSchedulingIgnoredDuringExecution": map[string]any{"nodeSelectorTerms": out}}
}

// send opens one gate. pod is as the API server answered, where the outcome is done.
func send(ctx context.Context, c client.Client, s *sending) (pod *corev1.Pod, o outcome, err error) {
	raw, err := s.patch()
	if err != nil {
		return nil, refused, err
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	pod = &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: s.key.Namespace, Name: s.key.Name}}
	err = c.Patch(ctx, pod, client.RawPatch(types.MergePatchType, raw))
	if err == nil {
		return pod, done, nil
	}
	return nil, outcomeOf(err), fmt.Errorf("open gate of pod %s: %w", s.key, err)
}

// outcomeOf says what an error means for a write. Only what the API server said
// itself, as a client's mistake, is sure to have changed nothing.
func outcomeOf(err error) outcome {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return unknown
	}
	switch code := status.Status().Code; {
	case code == http.StatusConflict, code == http.StatusNotFound:
		return changed
	case code == http.StatusRequestTimeout:
		return unknown
	case code >= 400 && code < 500:
		return refused
	}
	return unknown
}

// touch changes a pod's status, which gives it a new resourceVersion: any opening
// that was sent before has happened, and is seen in the answer, or fails. It returns
// nil without an error where the pod is gone.
func touch(ctx context.Context, c client.Client, in intent, nonce string) (*corev1.Pod, error) {
	raw, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": in.UID},
		"status": map[string]any{"conditions": []corev1.PodCondition{{
			Type: api.ConditionAllocated, Status: corev1.ConditionUnknown, Reason: api.ReasonPending,
			Message: "whether its gate is open is being looked at anew (" + nonce + ")", LastTransitionTime: metav1.Now(),
		}}},
	})
	if err != nil {
		return nil, fmt.Errorf("encode touch: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: in.Namespace, Name: in.Name}}
	err = c.Status().Patch(ctx, pod, client.RawPatch(types.StrategicMergePatchType, raw))
	if err == nil {
		return pod, nil
	}
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil, confirmGone(ctx, c, in)
	}
	return nil, fmt.Errorf("touch pod %s/%s: %w", in.Namespace, in.Name, err)
}

// confirmGone returns nil where no pod of that UID exists.
func confirmGone(ctx context.Context, c client.Client, in intent) error {
	pod := &corev1.Pod{}
	err := c.Get(ctx, client.ObjectKey{Namespace: in.Namespace, Name: in.Name}, pod)
	switch {
	case apierrors.IsNotFound(err), err == nil && string(pod.UID) != in.UID:
		return nil
	case err != nil:
		return fmt.Errorf("look for pod %s/%s: %w", in.Namespace, in.Name, err)
	}
	return fmt.Errorf("touch pod %s/%s: it changed meanwhile", in.Namespace, in.Name)
}
