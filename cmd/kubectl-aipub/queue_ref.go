// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"

	"aipub.io/aipub/quota"
	"aipub.io/aipub/quota/objects"
)

// shortKinds are the names that kubectl users type for kinds.
var shortKinds = map[string]string{
	"po": "pod", "deploy": "deployment", "sts": "statefulset", "rs": "replicaset", "rc": "replicationcontroller",
	"ds": "daemonset", "ws": "workspace",
}

// workloadRef is what a user typed for a workload: [NAMESPACE/]KIND/NAME, or the
// name of one of its pods.
type workloadRef struct {
	text            string
	namespace       string
	kind, name, pod string // kind and name, or pod; with two parts either may be meant
}

func parseRef(text, namespace string) (workloadRef, error) {
	r := workloadRef{text: text, namespace: namespace}
	parts := strings.Split(text, "/")
	if slices.Contains(parts, "") || len(parts) > 3 {
		return r, fmt.Errorf("%q is no workload: write KIND/NAME, NAMESPACE/KIND/NAME, or a pod's name; kubectl aipub queue lists those that wait", text)
	}
	switch len(parts) {
	case 1:
		r.pod = parts[0]
	case 2:
		r.kind, r.name = plainKind(parts[0]), parts[1]
	default:
		r.namespace, r.kind, r.name = parts[0], plainKind(parts[1]), parts[2]
	}
	return r, nil
}

// plainKind is the kind in lower case and singular.
func plainKind(word string) string {
	word = strings.ToLower(word)
	word, _, _ = strings.Cut(word, ".") // job.batch
	if long, ok := shortKinds[word]; ok {
		return long
	}
	if !strings.HasSuffix(word, "ss") {
		word = strings.TrimSuffix(word, "s")
	}
	return word
}

// means reports whether a workload in a namespace is what was typed.
func (r workloadRef) means(w quota.Workload) bool {
	return w.Namespace == r.namespace && r.kind != "" && strings.ToLower(w.Kind) == r.kind && w.Name == r.name
}

// hasPod reports whether a pod is what was typed: NAME, pod/NAME or NAMESPACE/NAME.
func (r workloadRef) hasPod(p *corev1.Pod) bool {
	switch {
	case r.pod != "":
		return p.Namespace == r.namespace && p.Name == r.pod
	case r.kind == "pod":
		return p.Namespace == r.namespace && p.Name == r.name
	}
	return r.text == p.Namespace+"/"+p.Name
}

// find is the waiting workload that was typed.
func (q *queues) find(r workloadRef) (*waiter, error) {
	for _, w := range q.waiters {
		if r.means(w.Workload) || slices.ContainsFunc(w.pods, r.hasPod) {
			return w, nil
		}
	}
	for i := range q.pods {
		if p := &q.pods[i]; r.means(objects.Owner(p)) || r.hasPod(p) {
			return nil, fmt.Errorf("%s does not wait any more: %s", refOf(objects.Owner(p)), statePhrase(p))
		}
	}
	var known []string
	for _, it := range q.order {
		if r.kind == "" && it.Workload.Namespace == r.namespace && it.Workload.Name == r.text {
			return nil, fmt.Errorf("%q is no pod; did you mean %q?", r.text, refOf(it.Workload))
		}
		known = append(known, refOf(it.Workload))
	}
	typed := r.text
	if r.kind != "" {
		typed = r.namespace + "/" + r.kind + "/" + r.name
	}
	return nil, fmt.Errorf("no workload %s waits, and no pod of one%s; kubectl aipub queue lists those that do", typed, didYouMean(typed, known))
}

// statePhrase says what became of a pod that is not in the queue.
func statePhrase(p *corev1.Pod) string {
	switch {
	case objects.Ended(p):
		return fmt.Sprintf("its pod %s has ended (%s)", p.Name, p.Status.Phase)
	case p.DeletionTimestamp != nil:
		return fmt.Sprintf("its pod %s is being deleted", p.Name)
	case p.Spec.NodeName != "":
		return fmt.Sprintf("its pod %s is on node %s", p.Name, p.Spec.NodeName)
	}
	return fmt.Sprintf("the gate of its pod %s is open; kubectl aipub why %s -n %s says what it waits for", p.Name, p.Name, p.Namespace)
}

// completeWaiting offers the workloads that wait.
func (a *app) completeWaiting(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
	const none = cobra.ShellCompDirectiveNoFileComp
	from, err := a.source()
	if err != nil || len(args) > 0 {
		return nil, none
	}
	var pods corev1.PodList
	if err := listManagedPods(cmd.Context(), from, &pods); err != nil {
		return nil, none
	}
	var names []string
	for i := range pods.Items {
		if name := refOf(objects.Owner(&pods.Items[i])); objects.Waits(&pods.Items[i]) && strings.HasPrefix(name, prefix) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names), none
}

// namespace is that of -n, of the kubeconfig, or default.
func (a *app) namespace() string {
	n, _, err := a.config.ToRawKubeConfigLoader().Namespace()
	if err != nil || n == "" {
		return corev1.NamespaceDefault
	}
	return n
}
