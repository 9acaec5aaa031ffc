// SPDX-License-Identifier: Apache-2.0

package partitioner

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/gpu"
)

// validateRules checks each GPU rule by itself and against the ones before.
func validateRules(spec api.PartitionPolicySpec, path *field.Path) field.ErrorList {
	errs := notMore(len(spec.GPUs), maxRules, path)
	for i, r := range spec.GPUs {
		at := path.Index(i)
		if !slices.Contains([]api.GPUMode{api.GPUWhole, api.GPUMIG, api.GPUBlock}, r.Mode) {
			errs = append(errs, field.NotSupported(at.Child("mode"), r.Mode, []api.GPUMode{api.GPUWhole, api.GPUMIG, api.GPUBlock}))
		}
		for k, earlier := range spec.GPUs[:i] {
			if covers(earlier, r) {
				errs = append(errs, field.Invalid(at, ruleText(r), fmt.Sprintf(
					"can never match, because gpus[%d] (%s) takes all its GPUs first; move it before that rule or remove it", k, ruleText(earlier))))
				break
			}
		}
		errs = append(errs, validateLayout(spec, r, at.Child("layout"))...)
	}
	return errs
}

func validateLayout(spec api.PartitionPolicySpec, r api.GPURule, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if len(r.Layout) > 0 && r.Mode != api.GPUMIG {
		errs = append(errs, field.Forbidden(path, "belongs to mode MIG; remove it or set mode: MIG"))
	}
	seen := map[string]bool{}
	for k, l := range r.Layout {
		at := path.Index(k)
		if seen[l.Set] {
			errs = append(errs, field.Duplicate(at.Child("set"), l.Set))
		}
		seen[l.Set] = true
		if l.Count < 1 {
			errs = append(errs, field.Invalid(at.Child("count"), l.Count, "must be 1 or more"))
		}
		i := slices.IndexFunc(spec.Sets, func(t api.SetTemplate) bool { return t.Name == l.Set })
		switch {
		case i < 0:
			errs = append(errs, field.NotFound(at.Child("set"), l.Set))
		case spec.Sets[i].GPU == nil || spec.Sets[i].GPU.MIG == nil:
			errs = append(errs, field.Invalid(at.Child("set"), l.Set, "is not a MIG set; name a set that has gpu.mig"))
		}
	}
	return errs
}

// validateModes checks that every set has GPUs of its mode, and that no rule
// makes GPUs that no set can use.
func validateModes(spec api.PartitionPolicySpec, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	has := map[gpu.Mode]bool{gpu.ModeWhole: true}
	for _, r := range spec.GPUs {
		has[gpu.Mode(r.Mode)] = true
	}
	if slices.ContainsFunc(spec.GPUs, matchesAll) {
		has[gpu.ModeWhole] = slices.ContainsFunc(spec.GPUs, func(r api.GPURule) bool { return r.Mode == api.GPUWhole })
	}
	wanted := map[gpu.Mode]bool{gpu.ModeWhole: true}
	for i, t := range spec.Sets {
		// What is out of range still says which mode is meant.
		for _, kind := range givenKinds(t.GPU) {
			wanted[modeFor(kind)] = true
		}
		kind, ok := kindOf(t.GPU)
		if mode := modeFor(kind); ok && kind != gpu.KindCPU && !has[mode] {
			errs = append(errs, field.Invalid(path.Child("sets").Index(i).Child("gpu"), t.Name,
				fmt.Sprintf("no rule in spec.gpus gives a GPU mode %s; add one, for example {indices: [0], mode: %s}", mode, mode)))
		}
	}
	for i, r := range spec.GPUs {
		if !wanted[gpu.Mode(r.Mode)] {
			errs = append(errs, field.Invalid(path.Child("gpus").Index(i).Child("mode"), r.Mode,
				fmt.Sprintf("no set in spec.sets uses GPUs in this mode; add one with gpu.%s, or change the mode", fieldFor(r.Mode))))
		}
	}
	return errs
}

func fieldFor(m api.GPUMode) string {
	if m == api.GPUMIG {
		return "mig"
	}
	return "blockPercent"
}

func matchesAll(r api.GPURule) bool {
	return len(r.Indices) == 0 && len(r.Models) == 0 && len(r.UUIDs) == 0
}

// covers reports whether every GPU that b matches is matched by a.
func covers(a, b api.GPURule) bool {
	return within(b.Indices, a.Indices) && within(b.UUIDs, a.UUIDs) && within(lower(b.Models), lower(a.Models))
}

// within reports whether a condition is at least as narrow as another; an empty
// one is no condition.
func within[T comparable](narrow, wide []T) bool {
	if len(wide) == 0 {
		return true
	}
	missing := func(v T) bool { return !slices.Contains(wide, v) }
	return len(narrow) > 0 && !slices.ContainsFunc(narrow, missing)
}

func lower(list []string) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = strings.ToLower(s)
	}
	return out
}

// ruleText prints a rule's conditions.
func ruleText(r api.GPURule) string {
	var parts []string
	if len(r.Indices) > 0 {
		parts = append(parts, fmt.Sprintf("indices %v", r.Indices))
	}
	if len(r.Models) > 0 {
		parts = append(parts, fmt.Sprintf("models %q", r.Models))
	}
	if len(r.UUIDs) > 0 {
		parts = append(parts, fmt.Sprintf("uuids %q", r.UUIDs))
	}
	if len(parts) == 0 {
		return "all GPUs"
	}
	return strings.Join(parts, ", ")
}
