// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
)

// ofClaim finds the StatefulSet of a claim that the StatefulSet controller makes,
// since by default it gives its claims no owner: they are named
// TEMPLATE-STATEFULSET-ORDINAL and have the labels of its selector. nil when there is none.
// It must be asked for claims of trusted controllers only: names can be chosen.
func (o owners) ofClaim(ctx context.Context, namespace string, claim *metav1.ObjectMeta) (*Owner, error) {
	last := strings.LastIndexByte(claim.Name, '-')
	if last < 0 {
		return nil, nil
	}
	name := claim.Name[:last]
	for at := 0; at < len(name); at++ {
		if name[at] != '-' || at+1 == len(name) {
			continue
		}
		var set appsv1.StatefulSet
		err := o.live.Get(ctx, types.NamespacedName{Namespace: namespace, Name: name[at+1:]}, &set)
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read StatefulSet of claim %s: %w", claim.Name, err)
		}
		if !makes(&set, name[:at], claim) {
			continue
		}
		owner := &Owner{Label: "statefulset/" + set.Name}
		o.fill(owner, statefulSetKind, &metav1.PartialObjectMetadata{ObjectMeta: set.ObjectMeta})
		return owner, nil
	}
	return nil, nil
}

// makes reports whether a StatefulSet makes a claim of a template's name.
func makes(set *appsv1.StatefulSet, template string, claim *metav1.ObjectMeta) bool {
	named := func(c corev1.PersistentVolumeClaim) bool { return c.Name == template }
	if !slices.ContainsFunc(set.Spec.VolumeClaimTemplates, named) || set.Spec.Selector == nil {
		return false
	}
	return labels.SelectorFromSet(set.Spec.Selector.MatchLabels).Matches(labels.Set(claim.Labels))
}
