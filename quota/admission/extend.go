// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"fmt"
	"strings"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"aipub.io/aipub/api/v1alpha1"
)

// mostExtension is what can be added in all; what is more the clocks do not read.
const mostExtension = 99_999 * time.Hour

var extendField = annotationField(v1alpha1.ExtendAnnotation)

// checkExtension judges the time that somebody adds to what a Workspace may hold its
// set for. d has its stamps. Less time than before is always allowed.
func (i *Identity) checkExtension(ctx context.Context, req admission.Request, before, d document) (*Refusal, *failure) {
	given := d.meta.Annotations[v1alpha1.ExtendAnnotation]
	refuse := func(detail string) *Refusal {
		return &Refusal{Reason: ReasonBadExtension, Field: extendField, Value: given, Detail: detail}
	}
	typ := d.meta.Annotations[v1alpha1.TypeAnnotation]
	switch {
	case typ != string(v1alpha1.TypeWorkspace):
		return refuse(fmt.Sprintf("is time for a Workspace, and this is %s: AIPub never pauses it, so there is nothing to extend; leave the annotation out", article(typ))), nil
	case d.kind == podKind:
		return refuse("is time for a workload, and this is a pod: AIPub never pauses a pod by itself, so there is nothing to extend; leave the annotation out"), nil
	}
	wanted, err := time.ParseDuration(given)
	if err != nil || wanted < 0 || wanted > mostExtension {
		return refuse("is no time to add; give hours or minutes from 0 to 99999h, such as 8h or 90m"), nil
	}
	if had, err := time.ParseDuration(before.meta.Annotations[v1alpha1.ExtendAnnotation]); err == nil && wanted <= had {
		return nil, nil
	}
	var list v1alpha1.ReclaimPolicyList
	if err := i.live.List(ctx, &list); err != nil {
		return nil, unavailable(fmt.Errorf("list reclaim policies: %w", err))
	}
	a := d.meta.Annotations
	binding := strictest(list.Items, a[v1alpha1.ProjectAnnotation], a[v1alpha1.UserAnnotation])
	if binding != nil && wanted <= time.Duration(binding.Spec.MaxExtensionHours)*time.Hour {
		return nil, nil
	}
	may, err := i.access.MayExtend(ctx, req.UserInfo, req.Namespace)
	switch {
	case err != nil:
		return nil, unavailable(err)
	case may:
		return nil, nil
	case binding == nil:
		return refuse("adds to nothing: nothing limits how long this Workspace may hold its set, as no ReclaimPolicy binds it; leave the annotation out"), nil
	case binding.Spec.MaxExtensionHours == 0:
		return refuse(fmt.Sprintf("cannot be added: ReclaimPolicy %s lets nobody extend; ask somebody with the verb extend on workspaces.aipub.io", binding.Name)), nil
	}
	return refuse(fmt.Sprintf("is more than the %dh that ReclaimPolicy %s lets its user add in all; give at most that, or ask somebody with the verb extend on workspaces.aipub.io",
		binding.Spec.MaxExtensionHours, binding.Name)), nil
}

// strictest is the policy with the least extension of those that limit what a user
// holds in a project; nil where none does.
func strictest(policies []v1alpha1.ReclaimPolicy, project, user string) *v1alpha1.ReclaimPolicy {
	var found *v1alpha1.ReclaimPolicy
	for i := range policies {
		p := &policies[i]
		if !p.Spec.Scope.Binds(project, user) || (p.Spec.MaxOccupancyHours == 0 && p.Spec.Idle == nil) {
			continue
		}
		if found == nil || p.Spec.MaxExtensionHours < found.Spec.MaxExtensionHours {
			found = p
		}
	}
	return found
}

// article is a type in a sentence; an object without one is of none.
func article(typ string) string {
	switch {
	case typ == "":
		return "none"
	case strings.HasPrefix(typ, "O"):
		return "an " + typ
	}
	return "a " + typ
}
