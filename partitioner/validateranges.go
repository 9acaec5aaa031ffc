// SPDX-License-Identifier: Apache-2.0

package partitioner

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/gpu"
)

// The API's own bounds, for callers without an API server.
const (
	maxSets          = 32
	maxRules         = 32
	maxCount         = 16
	maxComputeSlices = 8
)

func notMore(n, most int, path *field.Path) field.ErrorList {
	if n > most {
		return field.ErrorList{field.TooMany(path, n, most)}
	}
	return nil
}

// givenKinds are the kinds of GPU part that a set gives, whatever their values.
func givenKinds(g *api.SetGPU) []gpu.Kind {
	if g == nil {
		return []gpu.Kind{gpu.KindCPU}
	}
	var kinds []gpu.Kind
	if g.Count != nil {
		kinds = append(kinds, gpu.KindWhole)
	}
	if g.BlockPercent != nil {
		kinds = append(kinds, gpu.KindBlock)
	}
	if g.MIG != nil {
		kinds = append(kinds, gpu.KindMIG)
	}
	return kinds
}

func wrongKinds(given []gpu.Kind, path *field.Path) *field.Error {
	const want = "give exactly one of count (1 to 16), blockPercent (1 to 100) and mig"
	if len(given) == 0 {
		return field.Required(path, want)
	}
	return field.Forbidden(path, fmt.Sprintf("%d of count, blockPercent and mig are given; %s", len(given), want))
}

// validateRanges checks the number that says how large a GPU part is.
func validateRanges(g *api.SetGPU, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if g.Count != nil {
		errs = inRange(*g.Count, maxCount, path.Child("count"))
	}
	if g.BlockPercent != nil {
		errs = append(errs, inRange(*g.BlockPercent, gpu.BlocksPerGPU, path.Child("blockPercent"))...)
	}
	if g.MIG != nil {
		errs = append(errs, inRange(g.MIG.ComputeSlices, maxComputeSlices, path.Child("mig", "computeSlices"))...)
	}
	return errs
}

func inRange(value, most int32, path *field.Path) field.ErrorList {
	if value < 1 || value > most {
		return field.ErrorList{field.Invalid(path, value, fmt.Sprintf("must be 1 to %d", most))}
	}
	return nil
}
