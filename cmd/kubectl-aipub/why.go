// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/quota/objects"
)

func newWhy(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "why POD",
		Short: "Show what a pod waits for, or how it came to run",
		Long: `Show what a pod waits for, or how it came to run: its quota, its turn in the queue,
the node chosen for it, the scheduler, and what that node has given it. Each step
has the typed reason that conditions, events and metrics have as well.

POD is NAME or NAMESPACE/NAME. What you may not read is left out, and a note says
what that is.`,
		Example: `  kubectl aipub why train-7-x2x9k -n vision
  kubectl aipub why vision/train-7-x2x9k -o json`,
		ValidArgsFunction: a.completePods,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return fmt.Errorf("%s are given; %s takes one, NAME or NAMESPACE/NAME", plural(len(args), "pod"), cmd.CommandPath())
			}
			return nil
		},
	}
	out := addPlainOutput(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := out.check(); err != nil {
			return err
		}
		return a.why(cmd.Context(), args[0], out)
	}
	return cmd
}

func (a *app) why(ctx context.Context, text string, out *output) error {
	from, err := a.source()
	if err != nil {
		return err
	}
	pod, err := a.findPod(ctx, from, text)
	if err != nil {
		return err
	}
	s := scene{pod: pod, now: a.now()}
	notes := a.look(ctx, from, &s)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	d := s.explain()
	d.Notes = append(d.Notes, notes...)
	var b bytes.Buffer
	if table, _ := out.table(); table {
		err = writeWhy(d, out, &b, s.now)
	} else {
		err = out.document(d, &b)
	}
	if err != nil {
		return fmt.Errorf("print reasons: %w", err)
	}
	if err := a.show(&b); err != nil {
		return err
	}
	a.note(d.Notes...)
	return nil
}

// look reads what the pod's steps are about. It returns what could not be read.
func (a *app) look(ctx context.Context, from lister, s *scene) []string {
	var notes []string
	miss := func(what string, err error) {
		if err != nil && ctx.Err() == nil {
			notes = append(notes, fmt.Sprintf("%s: %v", what, explain(err)))
		}
	}
	if objects.Waits(s.pod) {
		q, err := a.readQueues(ctx, from)
		miss("its place in the queue is not known, and the reason is what the controller wrote last", err)
		if err == nil {
			s.queues = q
			notes = append(notes, q.notes...)
		}
	}
	if s.pod.Spec.NodeName != "" && !objects.Ended(s.pod) && len(objects.Sets(&s.pod.Spec)) > 0 {
		var partitions api.NodePartitionList
		miss("what the node has given it is not known", from.List(ctx, &partitions))
		i := slices.IndexFunc(partitions.Items, func(p api.NodePartition) bool { return p.Name == s.pod.Spec.NodeName })
		if i >= 0 {
			s.node = &partitions.Items[i]
		}
	}
	return notes
}

// findPod reads the pod NAME or NAMESPACE/NAME.
func (a *app) findPod(ctx context.Context, from lister, text string) (*corev1.Pod, error) {
	text = strings.TrimPrefix(text, "pod/")
	namespace, name := a.namespace(), text
	if before, after, ok := strings.Cut(text, "/"); ok {
		namespace, name = before, after
	}
	if name == "" || namespace == "" || strings.Contains(name, "/") {
		return nil, fmt.Errorf("%q is no pod: write NAME or NAMESPACE/NAME", text)
	}
	c, online := from.(*cluster)
	if online {
		pod, err := c.pod(ctx, namespace, name)
		if !apierrors.IsNotFound(err) {
			return pod, err
		}
	}
	pods, err := podsOf(ctx, from, namespace)
	if err != nil && !online {
		return nil, err
	}
	var names []string
	for i := range pods {
		if pods[i].Name == name {
			return &pods[i], nil
		}
		names = append(names, pods[i].Name)
	}
	return nil, fmt.Errorf("there is no pod %q in namespace %s%s", name, namespace, didYouMean(name, names))
}

func podsOf(ctx context.Context, from lister, namespace string) ([]corev1.Pod, error) {
	var pods corev1.PodList
	if c, ok := from.(*cluster); ok {
		err := c.list(ctx, &pods, namespace, metav1.ListOptions{})
		return pods.Items, err
	}
	if err := from.List(ctx, &pods); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(pods.Items, func(p corev1.Pod) bool { return p.Namespace != namespace }), nil
}

// pod reads one pod.
func (c *cluster) pod(ctx context.Context, namespace, name string) (*corev1.Pod, error) {
	client, err := c.clientFor(corev1.SchemeGroupVersion)
	if err != nil {
		return nil, err
	}
	pod := &corev1.Pod{}
	err = client.Get().Namespace(namespace).Resource("pods").Name(name).Do(ctx).Into(pod)
	switch {
	case err == nil:
		return pod, nil
	case apierrors.IsNotFound(err):
		return nil, err
	case apierrors.IsForbidden(err):
		return nil, fmt.Errorf("you are not allowed to get pods in namespace %s: ask an administrator for the verb get on it, or check with kubectl auth can-i get pods -n %s", namespace, namespace)
	}
	return nil, &readError{resource: "pods", host: c.config.Host, err: err}
}

// completePods offers the pods of the namespace.
func (a *app) completePods(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
	from, err := a.source()
	if err != nil || len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	pods, err := podsOf(cmd.Context(), from, a.namespace())
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var names []string
	for i := range pods {
		if strings.HasPrefix(pods[i].Name, prefix) {
			names = append(names, pods[i].Name)
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
