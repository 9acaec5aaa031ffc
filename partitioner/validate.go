// SPDX-License-Identifier: Apache-2.0

package partitioner

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/gpu"
)

// Validate finds what is wrong with a policy without knowing any node: what the
// schema cannot say, and, for callers without an API server, what Plan needs to
// make sense of it.
func Validate(spec api.PartitionPolicySpec) field.ErrorList {
	path := field.NewPath("spec")
	errs := validateSelector(spec.NodeSelector, path.Child("nodeSelector"))
	errs = append(errs, validateReserve(spec.Reserve, path.Child("reserve"))...)
	errs = append(errs, validateUnattached(spec.Unattached, path.Child("unattached"))...)
	errs = append(errs, validateSets(spec.Sets, path.Child("sets"))...)
	errs = append(errs, validateRules(spec, path.Child("gpus"))...)
	errs = append(errs, validateModes(spec, path)...)
	return errs
}

func validateUnattached(u api.Unattached, path *field.Path) field.ErrorList {
	switch u {
	case "", api.UnattachedWarn, api.UnattachedEvict, api.UnattachedKill:
		return nil
	}
	return field.ErrorList{field.NotSupported(path, u, []api.Unattached{api.UnattachedWarn, api.UnattachedEvict, api.UnattachedKill})}
}

func validateSelector(s metav1.LabelSelector, path *field.Path) field.ErrorList {
	if len(s.MatchLabels) == 0 && len(s.MatchExpressions) == 0 {
		return field.ErrorList{field.Required(path, "name at least one label; label the nodes, for example aipub.io/pool=h200, and select that")}
	}
	if _, err := metav1.LabelSelectorAsSelector(&s); err != nil {
		return field.ErrorList{field.Invalid(path, metav1.FormatLabelSelector(&s), err.Error())}
	}
	return nil
}

func validateReserve(r api.Reserve, path *field.Path) field.ErrorList {
	errs := notNegative(r.CPU, path.Child("cpu"))
	return append(errs, notNegative(r.Memory, path.Child("memory"))...)
}

func notNegative(q *resource.Quantity, path *field.Path) field.ErrorList {
	if q != nil && q.Sign() < 0 {
		return field.ErrorList{field.Invalid(path, q.String(), "must not be negative; give 0 or more, or leave it out")}
	}
	return nil
}

func validateSets(sets []api.SetTemplate, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if len(sets) == 0 {
		errs = append(errs, field.Required(path, "give at least one set"))
	}
	errs = append(errs, notMore(len(sets), maxSets, path)...)
	names := map[string]bool{}
	for i, t := range sets {
		at := path.Index(i)
		if names[t.Name] {
			errs = append(errs, field.Duplicate(at.Child("name"), t.Name))
		}
		names[t.Name] = true
		errs = append(errs, validateSet(t, at)...)
		errs = append(errs, validateTwins(sets[:i], t, at)...)
	}
	return errs
}

func validateSet(t api.SetTemplate, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if !validSetName(t.Name) {
		errs = append(errs, field.Invalid(path.Child("name"), t.Name, "must be 1 to 40 lower-case letters, digits and '-', with no '-' at either end"))
	}
	errs = append(errs, validateCPU(t.CPU, path.Child("cpu"))...)
	errs = append(errs, positive(t.Memory, path.Child("memory"))...)
	if t.GPU == nil && (t.CPU == nil || t.Memory == nil) {
		errs = append(errs, field.Required(path, "a set without gpu must give both cpu and memory"))
	}
	if t.GPU != nil && t.PerNode != nil {
		errs = append(errs, field.Forbidden(path.Child("perNode"), "belongs to sets without gpu; remove it"))
	}
	return append(errs, validateSetGPU(t, path)...)
}

func validateSetGPU(t api.SetTemplate, set *field.Path) field.ErrorList {
	path := set.Child("gpu")
	if t.GPU == nil {
		return nil
	}
	errs := positive(t.GPU.Memory, path.Child("memory"))
	if t.GPU.MIG != nil {
		errs = append(errs, positive(t.GPU.MIG.Memory, path.Child("mig", "memory"))...)
	}
	if len(errs) > 0 {
		return errs
	}
	given := givenKinds(t.GPU)
	if len(given) != 1 {
		return append(errs, wrongKinds(given, path))
	}
	if errs = validateRanges(t.GPU, path); len(errs) > 0 {
		return errs
	}
	if t.Sharing == nil {
		return nil
	}
	if given[0] != gpu.KindBlock {
		return field.ErrorList{field.Forbidden(set.Child("sharing"), "belongs to block sets; give gpu.blockPercent or remove sharing")}
	}
	return validateSharing(*t.Sharing, *t.GPU, set.Child("sharing"))
}

// validateSharing wants no maximum below the share.
func validateSharing(s api.Sharing, g api.SetGPU, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	borrows := s.Borrow == nil || *s.Borrow
	if s.MaxPercent != nil && *s.MaxPercent > 100 {
		errs = append(errs, field.Invalid(path.Child("maxPercent"), *s.MaxPercent, "must be at most 100, a whole GPU"))
	}
	if s.MaxPercent != nil && !borrows && *s.MaxPercent > *g.BlockPercent {
		errs = append(errs, field.Forbidden(path.Child("maxPercent"), "is what may be borrowed up to, and borrow is false; remove one of them"))
	}
	if s.MaxPercent != nil && *s.MaxPercent < *g.BlockPercent {
		errs = append(errs, field.Invalid(path.Child("maxPercent"), *s.MaxPercent,
			fmt.Sprintf("must be at least gpu.blockPercent, %d; raise it, or leave it out for 100", *g.BlockPercent)))
	}
	if s.MaxMemory == nil {
		return errs
	}
	most := path.Child("maxMemory")
	if s.BorrowMemory == nil || !*s.BorrowMemory {
		errs = append(errs, field.Forbidden(most, "belongs to borrowMemory: true; add that, or remove maxMemory"))
	}
	if s.MaxMemory.Sign() <= 0 {
		return append(errs, field.Invalid(most, s.MaxMemory.String(), "must be above 0, and no less than the set's own device memory; leave it out for the GPU's memory"))
	}
	if g.Memory != nil && s.MaxMemory.Cmp(*g.Memory) < 0 {
		errs = append(errs, field.Invalid(most, s.MaxMemory.String(),
			fmt.Sprintf("must be at least gpu.memory, %s; raise it, or leave it out for the GPU's memory", g.Memory)))
	}
	return errs
}

// validateCPU wants steps of 1m, and whole cores from one core on, so that the
// kubelet can give the set cores of its own.
func validateCPU(q *resource.Quantity, path *field.Path) field.ErrorList {
	errs := positive(q, path)
	if q == nil || len(errs) > 0 {
		return errs
	}
	milli := q.MilliValue()
	switch {
	case q.Cmp(*resource.NewMilliQuantity(milli, resource.DecimalSI)) != 0:
		errs = append(errs, field.Invalid(path, q.String(), "must be in steps of 1m, a thousandth of a core"))
	case milli > milliCore && milli%milliCore != 0:
		errs = append(errs, field.Invalid(path, q.String(), "must be whole cores when above 1, so that the kubelet can pin them; give "+
			cores(roundCPU(milli))+" or "+cores(roundCPU(milli)+milliCore)))
	}
	return errs
}

func positive(q *resource.Quantity, path *field.Path) field.ErrorList {
	if q != nil && q.Sign() <= 0 {
		return field.ErrorList{field.Invalid(path, q.String(), "must be above 0; leave it out to have it computed")}
	}
	return nil
}

// validateTwins refuses MIG sets that mean the same instance as an earlier one,
// since nothing would say which of the two an instance is for.
func validateTwins(earlier []api.SetTemplate, t api.SetTemplate, path *field.Path) field.ErrorList {
	if t.GPU == nil || t.GPU.MIG == nil {
		return nil
	}
	for _, e := range earlier {
		if e.GPU != nil && e.GPU.MIG != nil && sameInstance(*e.GPU.MIG, *t.GPU.MIG) {
			return field.ErrorList{field.Invalid(path.Child("gpu", "mig"), migSizeText(*t.GPU.MIG),
				"means the same instance as set "+e.Name+"; keep one of the two, or give both a mig.memory further apart")}
		}
	}
	return nil
}

func sameInstance(a, b api.MIGSize) bool {
	if a.ComputeSlices != b.ComputeSlices || a.MediaExtensions != b.MediaExtensions {
		return false
	}
	if a.Memory == nil || b.Memory == nil {
		return a.Memory == nil && b.Memory == nil
	}
	return near(a.Memory.Value(), b.Memory.Value())
}
