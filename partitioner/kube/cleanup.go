// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// CleanupConfig are the settings of a Cleaner.
type CleanupConfig struct {
	// WebhookConfiguration is the name of the Mutating- and
	// ValidatingWebhookConfiguration to delete.
	WebhookConfiguration string
	// Lease is the leader election's, which no installer knows of; without a name
	// there is none to delete.
	Lease client.ObjectKey
	// Progress is told what happens, a line at a time.
	Progress io.Writer
	// Interval between looks at the nodes; zero is 5 s.
	Interval time.Duration
	// Settle is how long a node must stay clean to count as done; zero is 30 s,
	// three of the kubelet's default status updates.
	Settle time.Duration
	// Clock; nil is the machine's.
	Clock clock.Clock
}

// Cleaner removes our webhook configurations, the aipub.io/set-… names in Node
// status and, when the controller is long gone, its Lease. Run it after the node
// agents are gone.
//
// The kubelet keeps the capacity of a device plugin that went away for five
// minutes and writes it with each status update; then it sets it to zero once
// and forgets it. So a name is removed when its capacity is zero, and must then
// stay away. Where the kubelet itself does not report (the node is not ready),
// nothing is to be waited for.
type Cleaner struct {
	client client.Client
	config CleanupConfig
	clean  map[string]time.Time // since when each node is clean
	said   map[string]string    // the last line about each node
}

// NewCleaner makes a cleaner. The client must read from the API server itself.
func NewCleaner(c client.Client, config CleanupConfig) *Cleaner {
	if config.Progress == nil {
		config.Progress = io.Discard
	}
	if config.Interval == 0 {
		config.Interval = 5 * time.Second
	}
	if config.Settle == 0 {
		config.Settle = 30 * time.Second
	}
	if config.Clock == nil {
		config.Clock = clock.RealClock{}
	}
	return &Cleaner{client: c, config: config, clean: map[string]time.Time{}, said: map[string]string{}}
}

// Run works until every node is clean and stayed so. When the context ends
// before, the error names the nodes that are not and says what to do. Errors of
// single requests are printed and the request is tried again.
func (c *Cleaner) Run(ctx context.Context) error {
	last := errors.New("nothing was done yet")
	webhooksGone := false
	for {
		if !webhooksGone {
			last = c.deleteWebhooks(ctx)
			webhooksGone = last == nil
		}
		if webhooksGone {
			if last = c.sweep(ctx); last == nil {
				c.say("nodes", "every node is clean")
				last = c.deleteLease(ctx)
			}
			if last == nil {
				return nil
			}
		}
		timer := c.config.Clock.NewTimer(c.config.Interval)
		select {
		case <-ctx.Done():
			timer.Stop()
			return fmt.Errorf("clean up: %w: %w; see that no aipub-node pod is left, then run cleanup again", ctx.Err(), last)
		case <-timer.C():
		}
	}
}

func (c *Cleaner) deleteWebhooks(ctx context.Context) error {
	name := metav1.ObjectMeta{Name: c.config.WebhookConfiguration}
	for kind, object := range map[string]client.Object{
		"MutatingWebhookConfiguration":   &admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: name},
		"ValidatingWebhookConfiguration": &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: name},
	} {
		if err := c.delete(ctx, kind, object); err != nil {
			return err
		}
	}
	return nil
}

func (c *Cleaner) deleteLease(ctx context.Context) error {
	if c.config.Lease.Name == "" {
		return nil
	}
	lease := metav1.ObjectMeta{Namespace: c.config.Lease.Namespace, Name: c.config.Lease.Name}
	return c.delete(ctx, "Lease", &coordinationv1.Lease{ObjectMeta: lease})
}

// delete deletes an object; one that is not there is fine.
func (c *Cleaner) delete(ctx context.Context, kind string, object client.Object) error {
	err := c.client.Delete(ctx, object)
	switch {
	case err == nil:
		c.print("deleted %s %s", kind, object.GetName())
	case !apierrors.IsNotFound(err):
		err = fmt.Errorf("delete %s %s: %w", kind, object.GetName(), err)
		c.say(kind, err.Error())
		return err
	}
	return nil
}

// sweep looks at every node once. It returns nil when all are clean and have
// been for long enough.
func (c *Cleaner) sweep(ctx context.Context) error {
	var nodes corev1.NodeList
	if err := c.client.List(ctx, &nodes); err != nil {
		return fmt.Errorf("list nodes: %w", err)
	}
	var open []error
	for i := range nodes.Items {
		if err := c.sweepNode(ctx, &nodes.Items[i]); err != nil {
			c.say(nodes.Items[i].Name, err.Error())
			open = append(open, err)
		}
	}
	return errors.Join(open...)
}

// sweepNode returns why a node is not done yet.
func (c *Cleaner) sweepNode(ctx context.Context, node *corev1.Node) error {
	names := namesOn(node)
	now := c.config.Clock.Now()
	if len(names.all) == 0 {
		return c.settled(node.Name, now)
	}
	delete(c.clean, node.Name)
	if len(names.kept) > 0 && isReady(node) {
		return fmt.Errorf("node %s: the kubelet still keeps %s; it lets go 5 minutes after the node agent stopped", node.Name, names.keptText())
	}
	raw, err := names.removal()
	if err != nil {
		return err
	}
	if err := c.client.Status().Patch(ctx, node, client.RawPatch(types.JSONPatchType, raw)); err != nil {
		return fmt.Errorf("node %s: remove %s: %w", node.Name, names.text(), err)
	}
	c.print("node %s: removed %s", node.Name, names.text())
	c.clean[node.Name] = now
	return c.settled(node.Name, now)
}

// settled reports whether a clean node has been so for long enough. A node that
// was never seen otherwise has nothing that could come back.
func (c *Cleaner) settled(node string, now time.Time) error {
	since, removed := c.clean[node]
	if left := c.config.Settle - now.Sub(since); removed && left > 0 {
		return fmt.Errorf("node %s: clean; watching that nothing comes back", node)
	}
	return nil
}

// say prints a line about a subject unless it was the last one already.
func (c *Cleaner) say(subject, line string) {
	if c.said[subject] != line {
		c.said[subject] = line
		c.print("%s", line)
	}
}

// print writes a line of progress. A reader that went away is no reason to stop.
func (c *Cleaner) print(format string, args ...any) {
	_, _ = fmt.Fprintf(c.config.Progress, format+"\n", args...)
}

func isReady(node *corev1.Node) bool {
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}
