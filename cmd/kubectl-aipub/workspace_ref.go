// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	api "aipub.io/aipub/api/v1alpha1"
)

const boundHelp = `A Workspace is given by its name, the others as deployment/NAME, statefulset/NAME
or notebook/NAME; NAMESPACE/KIND/NAME names any of them, whatever -n says.`

// boundKind is a kind that ReclaimPolicies bind.
type boundKind struct {
	schema.GroupVersionKind
	resource string
}

// boundKinds are all of them, Workspaces first.
var boundKinds = []boundKind{
	{api.GroupVersion.WithKind("Workspace"), "workspaces"},
	{appsv1.SchemeGroupVersion.WithKind("Deployment"), "deployments"},
	{appsv1.SchemeGroupVersion.WithKind("StatefulSet"), "statefulsets"},
	{schema.GroupVersionKind{Group: "kubeflow.org", Version: "v1", Kind: "Notebook"}, "notebooks"},
}

func workspaceKind() boundKind { return boundKinds[0] }

func (k boundKind) gvr() schema.GroupVersionResource {
	return k.GroupVersion().WithResource(k.resource)
}

// word is the kind as it is typed.
func (k boundKind) word() string { return strings.ToLower(k.Kind) }

func (k boundKind) isWorkspace() bool { return k == workspaceKind() }

// boundRef is one that a user typed.
type boundRef struct {
	kind            boundKind
	namespace, name string
}

// String names it for reading: "workspace lab/kim".
func (r boundRef) String() string {
	return fmt.Sprintf("%s %s/%s", r.kind.word(), r.namespace, r.name)
}

// typed is what commands take for it within its namespace.
func (r boundRef) typed() string {
	if r.kind.isWorkspace() {
		return r.name
	}
	return r.kind.word() + "/" + r.name
}

// command is a command about it that can be pasted.
func (r boundRef) command(verb string) string {
	return fmt.Sprintf("kubectl aipub workspace %s %s -n %s", verb, r.typed(), r.namespace)
}

// parseBound reads NAME, KIND/NAME or NAMESPACE/KIND/NAME.
func parseBound(text, namespace string) (boundRef, error) {
	parts := strings.Split(text, "/")
	if slices.Contains(parts, "") || len(parts) > 3 {
		return boundRef{}, fmt.Errorf("%q is no name: write NAME for a Workspace, or KIND/NAME or NAMESPACE/KIND/NAME", text)
	}
	r := boundRef{kind: workspaceKind(), namespace: namespace, name: parts[len(parts)-1]}
	if len(parts) == 3 {
		r.namespace = parts[0]
	}
	if len(parts) == 1 {
		return r, nil
	}
	word := plainKind(parts[len(parts)-2])
	i := slices.IndexFunc(boundKinds, func(k boundKind) bool { return k.word() == word })
	if i < 0 {
		var words []string
		for _, k := range boundKinds {
			words = append(words, k.word())
		}
		return r, fmt.Errorf("%q: %s is no kind that ReclaimPolicies bind%s; those are %s", text, word, didYouMean(word, words), strings.Join(words, ", "))
	}
	r.kind = boundKinds[i]
	return r, nil
}
