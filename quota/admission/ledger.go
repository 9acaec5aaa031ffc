// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"fmt"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/quota"
)

// Ledger says whether more fits the quotas.
type Ledger interface {
	// Fits judges an ask and changes nothing: what is charged is what the gate lets
	// through, so a refused, repeated or dry request costs nothing. It answers from
	// what it knows at the moment; where it knows nothing it refuses nothing, since
	// the gate judges again, exactly.
	Fits(ctx context.Context, ask Ask) Refusals
}

// Ask is what a request would hold beyond what its workload holds already.
type Ask struct {
	Party quota.Party
	// Workload has no UID before it is created, and no name either when the API
	// server makes one up.
	Workload quota.Workload
	// Sets that each pod asks for.
	Sets map[string]int64
	// Count of pods, at least 1: all of a Workspace, the minimum of an Operation.
	Count int64
}

// maxReplicas bounds what a request may ask for, so that products stay far from
// overflow.
const maxReplicas = 1_000_000

// newAsk is what a new object or, where before is given, its change asks the ledger
// for; nil when nothing. Jobs wait instead, and so do the pods that a controller
// makes for a workload, which was judged as a whole.
func newAsk(d document, before *document) (*Ask, Refusals) {
	if d.pod == nil || metav1.GetControllerOfNoCopy(&d.meta) != nil {
		return nil, nil
	}
	ask := &Ask{
		Party: quota.Party{
			Project: d.meta.Annotations[v1alpha1.ProjectAnnotation], User: d.meta.Annotations[v1alpha1.UserAnnotation],
			Type: v1alpha1.WorkloadType(d.meta.Annotations[v1alpha1.TypeAnnotation]),
		},
		Workload: quota.Workload{Group: d.kind.Group, Kind: d.kind.Kind, Namespace: d.meta.Namespace, Name: d.meta.Name, UID: string(d.meta.UID)},
		Sets:     SetsOf(d.pod),
	}
	count, refusals := d.guaranteed(ask.Party.Type)
	if len(refusals) > 0 {
		return nil, refusals
	}
	if before != nil {
		// What could not be read before is nothing.
		had, _ := before.guaranteed(ask.Party.Type)
		count -= had
	}
	if ask.Count = min(count, maxReplicas); ask.Count < 1 || len(ask.Sets) == 0 {
		return nil, nil
	}
	return ask, nil
}

// guaranteed is how many pods must fit at once.
func (d document) guaranteed(typ v1alpha1.WorkloadType) (int64, Refusals) {
	switch typ {
	case v1alpha1.TypeWorkspace:
		return d.replicas, nil
	case v1alpha1.TypeOperation:
		return d.minimum()
	case v1alpha1.TypeJob:
	}
	return 0, nil
}

// minimum is how many pods of an Operation are guaranteed, as far as the object
// itself says.
func (d document) minimum() (int64, Refusals) {
	given, has := d.meta.Annotations[v1alpha1.MinReplicasAnnotation]
	if !has {
		return min(d.replicas, 1), nil
	}
	count, err := strconv.ParseInt(given, 10, 64)
	if err != nil || count < 0 || count > maxReplicas {
		return 0, Refusals{{Reason: ReasonBadMinimum, Field: annotationField(v1alpha1.MinReplicasAnnotation), Value: given,
			Detail: fmt.Sprintf("is no number of replicas; give a whole number from 0 to %d", maxReplicas)}}
	}
	return count, nil
}

// fits asks the ledger, if there is one and anything to ask.
func fits(ctx context.Context, ledger Ledger, ask *Ask, refusals Refusals) Refusals {
	if len(refusals) > 0 || ask == nil || ledger == nil {
		return refusals
	}
	return ledger.Fits(ctx, *ask)
}
