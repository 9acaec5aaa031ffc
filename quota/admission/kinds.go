// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"aipub.io/aipub/api/v1alpha1"
)

var (
	podKind            = schema.GroupKind{Kind: "Pod"}
	claimKind          = schema.GroupKind{Kind: "PersistentVolumeClaim"}
	serviceAccountKind = schema.GroupKind{Kind: "ServiceAccount"}
	statefulSetKind    = schema.GroupKind{Group: "apps", Kind: "StatefulSet"}
	cronJobKind        = schema.GroupKind{Group: "batch", Kind: "CronJob"}
	jobKind            = schema.GroupKind{Group: "batch", Kind: "Job"}
	workspaceKind      = schema.GroupKind{Group: v1alpha1.GroupVersion.Group, Kind: "Workspace"}
)

// Kinds are the workload kinds that are stamped, each with the type that it has
// when its author says nothing. Only these may own what is charged: what nobody
// stamps, anybody can forge.
type Kinds map[schema.GroupKind]v1alpha1.WorkloadType

// BuiltinKinds are the workload kinds of Kubernetes and our own.
func BuiltinKinds() Kinds {
	return Kinds{
		podKind:                             v1alpha1.TypeJob,
		cronJobKind:                         v1alpha1.TypeJob,
		statefulSetKind:                     v1alpha1.TypeOperation,
		workspaceKind:                       v1alpha1.TypeWorkspace,
		jobKind:                             v1alpha1.TypeJob,
		{Group: "apps", Kind: "Deployment"}: v1alpha1.TypeOperation,
		{Group: "apps", Kind: "ReplicaSet"}: v1alpha1.TypeOperation,
		{Group: "apps", Kind: "DaemonSet"}:  v1alpha1.TypeOperation,
		{Kind: "ReplicationController"}:     v1alpha1.TypeOperation,
	}
}

// ParseKinds adds further kinds to the built-in ones, each as KIND.GROUP=TYPE, for
// example Notebook.kubeflow.org=Workspace.
func ParseKinds(further []string) (Kinds, error) {
	kinds := BuiltinKinds()
	for _, text := range further {
		name, typ, _ := strings.Cut(text, "=")
		kind := schema.ParseGroupKind(name)
		if kind.Kind == "" || kind.Group == "" || !isType(typ) {
			return nil, fmt.Errorf("read kind %q: give KIND.GROUP=TYPE with a type of %s, for example Notebook.kubeflow.org=Workspace", text, typeNames)
		}
		if _, builtin := kinds[kind]; builtin {
			return nil, fmt.Errorf("read kind %q: %s is stamped already; name other kinds only", text, kind)
		}
		kinds[kind] = v1alpha1.WorkloadType(typ)
	}
	return kinds, nil
}

// Further are the kinds that are not built in, in order.
func (k Kinds) Further() []schema.GroupKind {
	builtin := BuiltinKinds()
	var out []schema.GroupKind
	for kind := range k {
		if _, has := builtin[kind]; !has {
			out = append(out, kind)
		}
	}
	slices.SortFunc(out, func(a, b schema.GroupKind) int { return cmp.Compare(a.String(), b.String()) })
	return out
}

const typeNames = "Workspace, Job and Operation"

func isType(text string) bool {
	switch v1alpha1.WorkloadType(text) {
	case v1alpha1.TypeWorkspace, v1alpha1.TypeJob, v1alpha1.TypeOperation:
		return true
	}
	return false
}
