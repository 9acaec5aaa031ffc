// SPDX-License-Identifier: Apache-2.0

package partitioner

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "aipub.io/aipub/api/v1alpha1"
)

func TestValidateAcceptsTheExample(t *testing.T) {
	if errs := Validate(example()); len(errs) > 0 {
		t.Errorf("errors: %v", errs)
	}
}

func TestValidateRefuses(t *testing.T) {
	mig := api.GPURule{Mode: api.GPUMIG}
	block := api.GPURule{Mode: api.GPUBlock}
	first := api.GPURule{Indices: []int32{0}, Mode: api.GPUBlock}
	edit := func(f func(*api.PartitionPolicySpec)) api.PartitionPolicySpec {
		s := example()
		f(&s)
		return s
	}
	cases := map[string]struct {
		spec  api.PartitionPolicySpec
		field string
		says  string
	}{
		"no selector":                   {edit(func(s *api.PartitionPolicySpec) { s.NodeSelector = metav1.LabelSelector{} }), "spec.nodeSelector", "at least one label"},
		"a broken selector":             {edit(func(s *api.PartitionPolicySpec) { s.NodeSelector.MatchLabels["a"] = "not a value" }), "spec.nodeSelector", "not a value"},
		"a negative reserve":            {edit(func(s *api.PartitionPolicySpec) { s.Reserve.CPU = quantity("-1") }), "spec.reserve.cpu", "must not be negative"},
		"no sets":                       {policy(nil), "spec.sets", "at least one set"},
		"one name twice":                {policy(nil, wholeSet("a", 1), wholeSet("a", 2)), "spec.sets[1].name", "Duplicate"},
		"a malformed name":              {policy(nil, wholeSet("A_1", 1)), "spec.sets[0].name", "lower-case"},
		"cpu of zero":                   {policy(nil, with(wholeSet("a", 1), "0", "")), "spec.sets[0].cpu", "above 0"},
		"memory below zero":             {policy(nil, with(wholeSet("a", 1), "", "-5Gi")), "spec.sets[0].memory", "above 0"},
		"cpu finer than 1m":             {policy(nil, with(wholeSet("a", 1), "100u", "")), "spec.sets[0].cpu", "steps of 1m"},
		"cpu that cannot be pinned":     {policy(nil, with(wholeSet("a", 1), "2500m", "")), "spec.sets[0].cpu", "give 2 or 3"},
		"a CPU-only set without memory": {policy(nil, api.SetTemplate{Name: "a", CPU: quantity("1")}), "spec.sets[0]", "both cpu and memory"},
		"perNode of a GPU set":          {edit(func(s *api.PartitionPolicySpec) { s.Sets[0].PerNode = ptr[int32](2) }), "spec.sets[0].perNode", "without gpu"},
		"two kinds of GPU part":         {edit(func(s *api.PartitionPolicySpec) { s.Sets[0].GPU.Count = ptr[int32](1) }), "spec.sets[0].gpu", "exactly one"},
		"sharing of a whole GPU":        {edit(func(s *api.PartitionPolicySpec) { s.Sets[3].Sharing = &api.Sharing{} }), "spec.sets[3].sharing", "block sets"},
		"a borrowing limit below the share": {edit(func(s *api.PartitionPolicySpec) { s.Sets[1].Sharing = &api.Sharing{MaxPercent: ptr[int32](40)} }),
			"spec.sets[1].sharing.maxPercent", "at least gpu.blockPercent, 50"},
		"more than a whole GPU": {edit(func(s *api.PartitionPolicySpec) { s.Sets[1].Sharing = &api.Sharing{MaxPercent: ptr[int32](101)} }),
			"spec.sets[1].sharing.maxPercent", "at most 100"},
		"a borrowing limit without borrowing": {edit(func(s *api.PartitionPolicySpec) {
			s.Sets[1].Sharing = &api.Sharing{Borrow: ptr(false), MaxPercent: ptr[int32](60)}
		}), "spec.sets[1].sharing.maxPercent", "borrow is false"},
		"an unknown treatment": {edit(func(s *api.PartitionPolicySpec) { s.Unattached = "kill" }), "spec.unattached", `"Kill"`},
		"a memory limit without borrowing": {edit(func(s *api.PartitionPolicySpec) { s.Sets[1].Sharing = &api.Sharing{MaxMemory: quantity("80Gi")} }),
			"spec.sets[1].sharing.maxMemory", "borrowMemory: true"},
		"a memory limit of zero": {edit(func(s *api.PartitionPolicySpec) {
			s.Sets[1].Sharing = &api.Sharing{BorrowMemory: ptr(true), MaxMemory: quantity("0")}
		}), "spec.sets[1].sharing.maxMemory", `"0": must be above 0`},
		"a memory limit below zero": {edit(func(s *api.PartitionPolicySpec) {
			s.Sets[1].Sharing = &api.Sharing{BorrowMemory: ptr(true), MaxMemory: quantity("-1Gi")}
		}), "spec.sets[1].sharing.maxMemory", `"-1Gi": must be above 0`},
		"a memory limit below the share": {edit(func(s *api.PartitionPolicySpec) {
			s.Sets[1].GPU.Memory, s.Sets[1].Sharing = quantity("70Gi"), &api.Sharing{BorrowMemory: ptr(true), MaxMemory: quantity("60Gi")}
		}), "spec.sets[1].sharing.maxMemory", "at least gpu.memory, 70Gi"},
		"device memory of zero":         {edit(func(s *api.PartitionPolicySpec) { s.Sets[0].GPU.Memory = quantity("0") }), "spec.sets[0].gpu.memory", "above 0"},
		"two sets for one MIG instance": {policy([]api.GPURule{mig}, migSet("a", 1, "18Gi"), migSet("b", 1, "17Gi")), "spec.sets[1].gpu.mig", "same instance as set a"},
		"a rule behind one that takes all": {policy([]api.GPURule{block, {Models: []string{"X"}, Mode: api.GPUBlock}}, blockSet("a", 50)),
			"spec.gpus[1]", "can never match, because gpus[0] (all GPUs)"},
		"a rule behind a wider one": {policy([]api.GPURule{{Indices: []int32{0, 1}, Mode: api.GPUBlock}, {Indices: []int32{1}, Models: []string{"X"}, Mode: api.GPUBlock}}, blockSet("a", 50)),
			"spec.gpus[1]", "indices [0 1]"},
		"an unknown mode":              {policy([]api.GPURule{{Mode: "Halved"}}, wholeSet("a", 1)), "spec.gpus[0].mode", `"Block"`},
		"a layout of another mode":     {policy([]api.GPURule{{Mode: api.GPUBlock, Layout: []api.SetCount{{Set: "a", Count: 1}}}}, blockSet("a", 50)), "spec.gpus[0].layout", "mode: MIG"},
		"a layout with an unknown set": {policy([]api.GPURule{{Mode: api.GPUMIG, Layout: []api.SetCount{{Set: "x", Count: 1}}}}, migSet("a", 1, "")), "spec.gpus[0].layout[0].set", "Not found"},
		"a layout with a block set": {policy([]api.GPURule{first, {Mode: api.GPUMIG, Layout: []api.SetCount{{Set: "b", Count: 1}}}}, migSet("a", 1, ""), blockSet("b", 50)),
			"spec.gpus[1].layout[0].set", "not a MIG set"},
		"MIG GPUs without MIG sets":         {policy([]api.GPURule{{Indices: []int32{0}, Mode: api.GPUMIG}}, wholeSet("a", 1)), "spec.gpus[0].mode", "add one with gpu.mig"},
		"block sets without block GPUs":     {policy(nil, blockSet("a", 50)), "spec.sets[0].gpu", "no rule in spec.gpus gives a GPU mode Block"},
		"whole sets where all GPUs are cut": {policy([]api.GPURule{block}, blockSet("b", 50), wholeSet("a", 1)), "spec.sets[1].gpu", "mode Whole"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			errs := Validate(tc.spec)
			for _, e := range errs {
				if e.Field == tc.field && strings.Contains(e.Error(), tc.says) {
					return
				}
			}
			t.Errorf("no error at %s that says %q in %v", tc.field, tc.says, errs)
		})
	}
}

// A value out of range is one mistake, not two: the mode that its kind needs is
// still meant.
func TestValidateRefusesARangeOnce(t *testing.T) {
	block, mig := []api.GPURule{{Mode: api.GPUBlock}}, []api.GPURule{{Mode: api.GPUMIG}}
	both := blockSet("a", 50)
	both.GPU.Count = ptr[int32](1)
	many := make([]api.SetTemplate, 40)
	for i := range many {
		many[i] = wholeSet(fmt.Sprintf("s%d", i), 1)
	}
	cases := map[string]struct {
		spec api.PartitionPolicySpec
		want string
	}{
		"blockPercent 0":    {policy(block, blockSet("a", 0)), "spec.sets[0].gpu.blockPercent: Invalid value: 0: must be 1 to 100"},
		"blockPercent 101":  {policy(block, blockSet("a", 101)), "spec.sets[0].gpu.blockPercent: Invalid value: 101: must be 1 to 100"},
		"count 0":           {policy(nil, wholeSet("a", 0)), "spec.sets[0].gpu.count: Invalid value: 0: must be 1 to 16"},
		"computeSlices 9":   {policy(mig, migSet("a", 9, "")), "spec.sets[0].gpu.mig.computeSlices: Invalid value: 9: must be 1 to 8"},
		"two kinds":         {policy(block, both), "spec.sets[0].gpu: Forbidden: 2 of count, blockPercent and mig are given; give exactly one of count (1 to 16), blockPercent (1 to 100) and mig"},
		"an empty GPU part": {policy(nil, api.SetTemplate{Name: "a", GPU: &api.SetGPU{}}), "spec.sets[0].gpu: Required value: give exactly one of count (1 to 16), blockPercent (1 to 100) and mig"},
		"40 sets":           {policy(nil, many...), "spec.sets: Too many: 40: must have at most 32 items"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, e := range Validate(tc.spec) {
				got = append(got, e.Error())
			}
			if diff := cmp.Diff([]string{tc.want}, got); diff != "" {
				t.Errorf("mistakes (-want +got):\n%s", diff)
			}
		})
	}
}

func TestValidateAcceptsWhatOnlyLooksWrong(t *testing.T) {
	cases := map[string]api.PartitionPolicySpec{
		"sizes of equal compute that memory tells apart": policy([]api.GPURule{{Mode: api.GPUMIG}}, migSet("a", 1, "18Gi"), migSet("b", 1, "35Gi")),
		"media extensions tell them apart": policy([]api.GPURule{{Mode: api.GPUMIG}}, migSet("a", 1, ""), func() api.SetTemplate {
			s := migSet("b", 1, "")
			s.GPU.MIG.MediaExtensions = true
			return s
		}()),
		"a catch-all rule at the end":       policy([]api.GPURule{{Indices: []int32{0}, Mode: api.GPUBlock}, {Mode: api.GPUWhole}}, blockSet("a", 50), wholeSet("b", 1)),
		"rules that overlap in part":        policy([]api.GPURule{{Indices: []int32{0, 1}, Mode: api.GPUBlock}, {Indices: []int32{1, 2}, Mode: api.GPUBlock}}, blockSet("a", 50)),
		"part of a core in steps of 1m":     policy(nil, with(wholeSet("a", 1), "125m", "")),
		"two block sets that differ in cpu": policy([]api.GPURule{{Mode: api.GPUBlock}}, with(blockSet("a", 50), "4", ""), blockSet("b", 50)),
		"a whole rule that no set asks for": policy([]api.GPURule{{Indices: []int32{0}, Mode: api.GPUBlock}, {Mode: api.GPUWhole}}, blockSet("a", 50)),
	}
	for name, spec := range cases {
		t.Run(name, func(t *testing.T) {
			if errs := Validate(spec); len(errs) > 0 {
				t.Errorf("errors: %v", errs)
			}
		})
	}
}
