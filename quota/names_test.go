// SPDX-License-Identifier: Apache-2.0

package quota

import (
	"testing"

	api "aipub.io/aipub/api/v1alpha1"
)

func TestUnknownSetsAreNamed(t *testing.T) {
	limits := func(whole map[string]int32, workspaces map[string]int32) api.QuotaLimits {
		return api.QuotaLimits{
			SetLimits: api.SetLimits{Sets: whole},
			ByType:    map[api.WorkloadType]api.SetLimits{api.TypeWorkspace: {Sets: workspaces}},
		}
	}
	known := Sizes{"small": 1, "medium": 2, "cpu": 0}
	for name, c := range map[string]struct {
		limits api.QuotaLimits
		sizes  Sizes
		want   string
	}{
		"all known": {limits(map[string]int32{"small": 1, "cpu": 2}, map[string]int32{"medium": 0}), known, ""},
		"no sets":   {limits(nil, nil), nil, ""},
		"misspelt": {limits(map[string]int32{"smal": 1, "small": 1}, nil), known,
			"spec.limits.sets[smal]: no set has this name; there are, closest first: small, cpu, medium"},
		"of the resource": {limits(map[string]int32{"set-medium": 1}, nil), known,
			"spec.limits.sets[set-medium]: no set has this name; there are, closest first: medium, cpu, small"},
		"by type, before any": {limits(nil, map[string]int32{"large": 1}), nil,
			"spec.limits.byType[Workspace].sets[large]: no set has this name; there are none yet"},
		"very many": {limits(map[string]int32{"a": 1, "b": 1, "c": 1, "d": 1, "e": 1, "f": 1}, map[string]int32{"g": 1}), Sizes{"x": 1},
			"spec.limits.sets[a]: no set has this name; there are, closest first: x; spec.limits.sets[b]: no set has this name; there are, closest first: x; " +
				"spec.limits.sets[c]: no set has this name; there are, closest first: x; spec.limits.sets[d]: no set has this name; there are, closest first: x; " +
				"spec.limits.sets[e]: no set has this name; there are, closest first: x; and 2 more"},
	} {
		t.Run(name, func(t *testing.T) { want(t, "sentence", Unknown(c.limits, c.sizes), c.want) })
	}
}
