// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"fmt"
	"maps"
	"strconv"
	"strings"

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
	// Sets that each pod asks for, and the field where it says so.
	Sets  map[string]int64
	Field string
	// Count of pods, at least 1: all of a Workspace, the minimum of an Operation.
	Count int64
	// Whole is true where Count is in place of what the workload has, since its pods
	// ask for other sets now, and false where it is beyond that.
	Whole bool
}

// maxReplicas bounds what a request may ask for, so that products stay far from
// overflow.
const maxReplicas = 1_000_000

// newAsk is what a new object or, where before is given, its change asks the ledger
// for; nil when nothing. Jobs wait instead, and so do the pods that a controller
// makes for a workload, which was judged as a whole.
func newAsk(d document, before *document) (*Ask, Refusals) {
	sets, at := d.asked()
	if len(sets) == 0 || metav1.GetControllerOfNoCopy(&d.meta) != nil {
		return nil, nil
	}
	ask := &Ask{
		Party: quota.Party{
			Project: d.meta.Annotations[v1alpha1.ProjectAnnotation], User: d.meta.Annotations[v1alpha1.UserAnnotation],
			Type: v1alpha1.WorkloadType(d.meta.Annotations[v1alpha1.TypeAnnotation]),
		},
		Workload: quota.Workload{Group: d.kind.Group, Kind: d.kind.Kind, Namespace: d.meta.Namespace, Name: d.meta.Name, UID: string(d.meta.UID)},
		Sets:     sets, Field: at,
	}
	count, refusals := d.guaranteed(ask.Party.Type)
	if len(refusals) > 0 {
		return nil, refusals
	}
	if before != nil {
		count = ask.growth(before, count)
	}
	if ask.Count = min(count, maxReplicas); ask.Count < 1 {
		return nil, nil
	}
	return ask, nil
}

// growth is how many pods are to be asked for, where there are to be count of them.
func (a *Ask) growth(before *document, count int64) int64 {
	if before.own != nil && before.own.Paused {
		return 0 // a resume waits for its turn, whatever it asks for
	}
	// What could not be read before is nothing.
	had, _ := before.guaranteed(a.Party.Type)
	was, _ := before.asked()
	if maps.Equal(was, a.Sets) {
		return count - had
	}
	for set, n := range a.Sets {
		if n*count > was[set]*had {
			a.Whole = true
			return count
		}
	}
	return 0
}

// asked is what each pod asks for, and the first field that says so.
func (d document) asked() (map[string]int64, string) {
	if d.own != nil {
		return map[string]int64{d.own.Set: int64(d.own.Count)}, "spec.set"
	}
	if d.pod == nil {
		return nil, ""
	}
	for _, a := range containersOf(d.pod) {
		for _, name := range ownNames(a.container.Resources) {
			if strings.HasPrefix(name, v1alpha1.ResourcePrefix) {
				at, _ := a.find(name)
				return SetsOf(d.pod), d.at + strings.TrimPrefix(at.String(), "spec")
			}
		}
	}
	return nil, ""
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
	if given == "" {
		return 0, Refusals{{Reason: ReasonBadMinimum, Field: annotationField(v1alpha1.MinReplicasAnnotation),
			Detail: fmt.Sprintf("is empty; give a whole number from 0 to %d, or leave the annotation out, which guarantees one replica", maxReplicas)}}
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
