// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"aipub.io/aipub/api/v1alpha1"
)

// maxHops bounds how far up the owners of a pod are followed.
const maxHops = 4

// owners finds and verifies who owns an object.
type owners struct {
	// cached is asked first, live where the cache does not know.
	cached, live client.Reader
	kinds        Kinds
}

// of describes the controlling owner of an object in a namespace; nil when it has
// none. The error is one of the cluster's, not of the object.
func (o owners) of(ctx context.Context, namespace string, object *metav1.ObjectMeta) (*Owner, error) {
	ref := metav1.GetControllerOfNoCopy(object)
	if ref == nil {
		return nil, nil
	}
	owner := &Owner{Label: strings.ToLower(ref.Kind) + "/" + ref.Name}
	found, unknown, err := o.find(ctx, namespace, ref)
	if err != nil {
		return nil, err
	}
	if unknown != "" {
		owner.Unknown = unknown
		return owner, nil
	}
	kind := kindOf(ref)
	o.fill(owner, kind, found)
	if kind != cronJobKind {
		owner.Workload, err = o.workload(ctx, kind, found)
	}
	return owner, err
}

// fill takes the stamps of a verified owner.
func (o owners) fill(owner *Owner, kind schema.GroupKind, found *metav1.PartialObjectMetadata) {
	owner.User = found.Annotations[v1alpha1.UserAnnotation]
	owner.Type = o.kinds[kind]
	if given := found.Annotations[v1alpha1.TypeAnnotation]; isType(given) {
		owner.Type = v1alpha1.WorkloadType(given)
	}
}

// workload names the highest owner of a verified object below a CronJob. An owner
// that is charged to somebody else is not followed: its reference may be forged by
// who wrote the lower one.
func (o owners) workload(ctx context.Context, kind schema.GroupKind, top *metav1.PartialObjectMetadata) (string, error) {
	for range maxHops {
		ref := metav1.GetControllerOfNoCopy(top)
		if ref == nil || kindOf(ref) == cronJobKind {
			break
		}
		above, unknown, err := o.find(ctx, top.Namespace, ref)
		if err != nil {
			return "", err
		}
		if unknown != "" || above.Annotations[v1alpha1.UserAnnotation] != top.Annotations[v1alpha1.UserAnnotation] {
			break
		}
		kind, top = kindOf(ref), above
	}
	return strings.Join([]string{kind.Group, kind.Kind, top.Name, string(top.UID)}, "/"), nil
}

func kindOf(ref *metav1.OwnerReference) schema.GroupKind {
	return schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind).GroupKind()
}

// find reads the object that a reference means, or says why there is none to
// believe. What the cache has not seen yet, or not with its stamp, is read live,
// once. Pods are never cached here: few objects are owned by one.
func (o owners) find(ctx context.Context, namespace string, ref *metav1.OwnerReference) (*metav1.PartialObjectMetadata, string, error) {
	gvk := schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind)
	if _, stamped := o.kinds[gvk.GroupKind()]; !stamped {
		return nil, fmt.Sprintf("is of kind %s, which AIPub does not stamp, so anybody could forge its owner; add the kind to the value identity.kinds of the chart", gvk.GroupKind()), nil
	}
	key := types.NamespacedName{Namespace: namespace, Name: ref.Name}
	if gvk.GroupKind() != podKind {
		cached := partial(gvk)
		if err := o.cached.Get(ctx, key, cached); err == nil && cached.UID == ref.UID && cached.Annotations[v1alpha1.UserAnnotation] != "" {
			return cached, "", nil
		}
	}
	found := partial(gvk)
	switch err := o.live.Get(ctx, key, found); {
	case apierrors.IsNotFound(err) || meta.IsNoMatchError(err):
		return nil, "does not exist, so nobody would be charged; owners are given by the controller that makes an object", nil
	case err != nil:
		return nil, "", fmt.Errorf("read owner %s %s: %w", ref.Kind, key, err)
	case found.UID != ref.UID:
		return nil, fmt.Sprintf("has uid %s, and the reference says %s; it was deleted and made again, or the reference is forged", found.UID, ref.UID), nil
	}
	return found, "", nil
}

func partial(gvk schema.GroupVersionKind) *metav1.PartialObjectMetadata {
	object := &metav1.PartialObjectMetadata{}
	object.SetGroupVersionKind(gvk)
	return object
}
