// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/sharer"
)

const (
	// agentLabels select the pods of the node agents, as the chart labels them.
	agentLabels = "app.kubernetes.io/name=aipub,app.kubernetes.io/component=node"
	// agentPort is the name of the port that an agent serves its report on.
	agentPort = "metrics"
	// maxReport bounds how much of an answer is read: a report of a node with
	// 8 GPUs of 100 containers each is a tenth of it.
	maxReport = 8 << 20
)

// agents lists the pods of the node agents. Who may not list pods everywhere is
// shown those of the usual namespace.
func (c *cluster) agents(ctx context.Context) ([]corev1.Pod, error) {
	var pods corev1.PodList
	options := metav1.ListOptions{LabelSelector: agentLabels}
	err := c.list(ctx, &pods, "", options)
	if apierrors.IsForbidden(err) {
		err = c.list(ctx, &pods, api.SystemNamespace, options)
	}
	if err != nil {
		return nil, err
	}
	return onePerNode(pods.Items), nil
}

// onePerNode are the pods by node: of several on one node, as while an agent is
// replaced, the one that runs and is not on its way out.
func onePerNode(pods []corev1.Pod) []corev1.Pod {
	rank := func(p corev1.Pod) int {
		switch {
		case p.DeletionTimestamp != nil:
			return 2
		case p.Status.Phase != corev1.PodRunning:
			return 1
		}
		return 0
	}
	pods = slices.DeleteFunc(pods, func(p corev1.Pod) bool { return p.Spec.NodeName == "" })
	slices.SortStableFunc(pods, func(a, b corev1.Pod) int {
		if d := strings.Compare(a.Spec.NodeName, b.Spec.NodeName); d != 0 {
			return d
		}
		return rank(a) - rank(b)
	})
	return slices.CompactFunc(pods, func(a, b corev1.Pod) bool { return a.Spec.NodeName == b.Spec.NodeName })
}

// report asks an agent for its report, through the API server.
func (c *cluster) report(ctx context.Context, agent corev1.Pod) (sharer.Report, error) {
	var r sharer.Report
	port, ok := portOf(agent)
	if !ok {
		return r, fmt.Errorf("its agent has no port named %s", agentPort)
	}
	client, err := c.clientFor(corev1.SchemeGroupVersion)
	if err != nil {
		return r, err
	}
	body, err := client.Get().Namespace(agent.Namespace).Resource("pods").SubResource("proxy").
		Name(fmt.Sprintf("%s:%d", agent.Name, port)).Suffix(strings.TrimPrefix(sharer.ReportPath, "/")).
		MaxRetries(0).Stream(ctx)
	if err != nil {
		return r, err
	}
	defer body.Close() //nolint:errcheck // it was only read
	raw, err := io.ReadAll(io.LimitReader(body, maxReport+1))
	if err != nil {
		return r, fmt.Errorf("read report: %w", err)
	}
	if len(raw) > maxReport {
		return r, fmt.Errorf("its report is longer than %s", memory(maxReport))
	}
	if err := json.Unmarshal(raw, &r); err != nil {
		return r, fmt.Errorf("its answer is no report: %w", err)
	}
	if r.Node != agent.Spec.NodeName {
		return r, fmt.Errorf("its answer is no report of this node, but of %q", r.Node)
	}
	return r, nil
}

func portOf(pod corev1.Pod) (int32, bool) {
	for _, c := range pod.Spec.Containers {
		for _, p := range c.Ports {
			if p.Name == agentPort {
				return p.ContainerPort, true
			}
		}
	}
	return 0, false
}

// silence says in words why there is no report of an agent's node.
func silence(agent corev1.Pod, err error) string {
	cause := ""
	switch {
	case agent.Status.Phase != corev1.PodRunning:
		cause = fmt.Sprintf("its agent is %s", orElse(string(agent.Status.Phase), "not running"))
	case apierrors.IsNotFound(err):
		cause = "its agent is gone or serves no shares; its version may be older than this plugin's"
	case errors.Is(err, context.DeadlineExceeded) || apierrors.IsTimeout(err):
		cause = "its agent did not answer in time"
	case isNetwork(err):
		cause = fmt.Sprintf("its agent cannot be reached: %v", innermost(err))
	default:
		cause = err.Error()
	}
	return fmt.Sprintf("node %s is not shown: %s; its log may say why: kubectl -n %s logs %s", agent.Spec.NodeName, cause, agent.Namespace, agent.Name)
}

// missingRight says which permission is missing for live shares, and what is
// shown instead. It returns "" for errors of other kinds.
func missingRight(err error) string {
	const instead = "what follows is the agents' average over the last minute, from NodePartitions"
	if !apierrors.IsForbidden(err) {
		return ""
	}
	right, namespace := "get pods/proxy", api.SystemNamespace
	var read *readError
	var proxy *proxyError
	switch {
	case errors.As(err, &read):
		right = "list pods"
	case errors.As(err, &proxy):
		namespace = proxy.namespace
	}
	return fmt.Sprintf("you are not allowed to %s in namespace %s, so %s; ask an administrator for it, or check with kubectl auth can-i %s -n %s",
		right, namespace, instead, right, namespace)
}

// proxyError is an agent's report that the API server does not let through.
type proxyError struct {
	namespace string
	err       error
}

// Error names the namespace and the cause.
func (e *proxyError) Error() string {
	return fmt.Sprintf("get pods/proxy in namespace %s: %v", e.namespace, e.err)
}

// Unwrap returns the cause.
func (e *proxyError) Unwrap() error { return e.err }
