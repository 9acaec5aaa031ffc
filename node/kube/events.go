// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"

	"aipub.io/aipub/gpu"
)

const (
	// component is who the events are from.
	component = "aipub-node"
	// eventBurst events are written at once, then one each 30 s: a fault that
	// comes and goes must not fill the cluster's store.
	eventBurst = 25
	eventQPS   = 1. / 30
)

// Recorder writes Kubernetes Events about this node.
type Recorder struct {
	node        string
	broadcaster record.EventBroadcaster
	recorder    record.EventRecorder
}

// NewRecorder writes until ctx ends or Close is called. It does not connect.
func NewRecorder(ctx context.Context, rc *rest.Config, node string) (*Recorder, error) {
	scheme, err := Scheme()
	if err != nil {
		return nil, err
	}
	core, err := typedcorev1.NewForConfig(rc)
	if err != nil {
		return nil, fmt.Errorf("create client for events: %w", err)
	}
	b := record.NewBroadcaster(record.WithContext(ctx),
		record.WithCorrelatorOptions(record.CorrelatorOptions{BurstSize: eventBurst, QPS: eventQPS}))
	b.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: core.Events("")})
	return &Recorder{
		node: node, broadcaster: b,
		recorder: b.NewRecorder(scheme, corev1.EventSource{Component: component, Host: node}),
	}, nil
}

// Announce tells of something that happened to the node with the given uid.
// eventType is Normal or Warning. It never blocks: what cannot be written, or
// comes too often, is dropped.
func (r *Recorder) Announce(uid types.UID, eventType, reason, message string) {
	if uid == "" {
		uid = types.UID(r.node) // as the kubelet does; kubectl describe looks for both
	}
	r.recorder.Event(&corev1.ObjectReference{
		APIVersion: "v1", Kind: "Node", Name: r.node, UID: uid,
	}, eventType, reason, message)
}

// AnnouncePod tells of something that happened to a pod of this node, as Announce
// does.
func (r *Recorder) AnnouncePod(p gpu.Pod, eventType, reason, message string) {
	r.recorder.Event(&corev1.ObjectReference{
		APIVersion: "v1", Kind: "Pod", Namespace: p.Namespace, Name: p.Name, UID: types.UID(p.UID),
	}, eventType, reason, message)
}

// Close stops writing. What was not written yet is lost.
func (r *Recorder) Close() { r.broadcaster.Shutdown() }
