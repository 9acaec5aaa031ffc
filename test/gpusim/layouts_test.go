// SPDX-License-Identifier: Apache-2.0

package gpusim

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

// part is one GPU instance of a layout, with the numbers that NVML reports.
type part struct {
	info  nvml.GpuInstanceProfileInfo
	enum  int
	start uint32
	size  uint32
}

// parts lists every profile at every placement that a GPU reports.
func parts(t *testing.T, d nvml.Device, enums []int) []part {
	t.Helper()
	var all []part
	for _, e := range enums {
		info, r := d.GetGpuInstanceProfileInfo(e)
		if r == nvml.ERROR_NOT_SUPPORTED {
			continue
		}
		must(t, "GetGpuInstanceProfileInfo", r)
		places, r := d.GetGpuInstancePossiblePlacements(&info)
		must(t, "GetGpuInstancePossiblePlacements", r)
		for _, p := range places {
			all = append(all, part{info, e, p.Start, p.Size})
		}
	}
	return all
}

// fits is the rule book, written independently of the simulator: intervals do
// not overlap, compute slices and each profile's maximum are not exceeded, and
// there is at most one +me.
func fits(layout []part, p part, compute uint32) bool {
	sum, same, media := p.info.SliceCount, uint32(1), 0
	if p.enum == nvml.GPU_INSTANCE_PROFILE_1_SLICE_REV1 || p.enum == nvml.GPU_INSTANCE_PROFILE_2_SLICE_REV1 {
		media = 1
	}
	for _, q := range layout {
		if p.start < q.start+q.size && q.start < p.start+p.size {
			return false
		}
		sum += q.info.SliceCount
		if q.info.Id == p.info.Id {
			same++
		}
		if q.enum == nvml.GPU_INSTANCE_PROFILE_1_SLICE_REV1 || q.enum == nvml.GPU_INSTANCE_PROFILE_2_SLICE_REV1 {
			media++
		}
	}
	return sum <= compute && same <= p.info.InstanceCount && media <= 1
}

// layouts enumerates every set of parts that fits, the empty one included.
func layouts(all []part, compute uint32) [][]part {
	out := [][]part{nil}
	var extend func(layout []part, from int)
	extend = func(layout []part, from int) {
		for i := from; i < len(all); i++ {
			if fits(layout, all[i], compute) {
				next := append(slices.Clone(layout), all[i])
				out = append(out, next)
				extend(next, i+1)
			}
		}
	}
	extend(nil, 0)
	return out
}

func maximal(layout, all []part, compute uint32) bool {
	return !slices.ContainsFunc(all, func(p part) bool { return fits(layout, p, compute) })
}

// multiset names what a layout holds without where.
func multiset(layout []part) string {
	ids := make([]string, len(layout))
	for i, p := range layout {
		ids[i] = fmt.Sprint(p.enum)
	}
	slices.Sort(ids)
	return strings.Join(ids, " ")
}

// counts of layouts, of those to which nothing can be added, and of what they
// hold without where.
type counts struct{ layouts, maximal, multisets, maximalMultisets int }

func count(ls [][]part, all []part, compute uint32) counts {
	sets, full, c := map[string]bool{}, map[string]bool{}, counts{layouts: len(ls)}
	for _, l := range ls {
		sets[multiset(l)] = true
		if maximal(l, all, compute) {
			full[multiset(l)] = true
			c.maximal++
		}
	}
	c.multisets, c.maximalMultisets = len(sets), len(full)
	return c
}

var (
	standard = []int{nvml.GPU_INSTANCE_PROFILE_1_SLICE, nvml.GPU_INSTANCE_PROFILE_2_SLICE, nvml.GPU_INSTANCE_PROFILE_3_SLICE,
		nvml.GPU_INSTANCE_PROFILE_4_SLICE, nvml.GPU_INSTANCE_PROFILE_7_SLICE}
	doubled = append(slices.Clone(standard), nvml.GPU_INSTANCE_PROFILE_1_SLICE_REV2)
	every   = append(slices.Clone(doubled), nvml.GPU_INSTANCE_PROFILE_1_SLICE_REV1, nvml.GPU_INSTANCE_PROFILE_2_SLICE_REV1)
)

const allMIGModels = `
[machine]
name = layouts
[gpu]
model = A30-24
mig-activation = auto
[gpu]
model = A100-40
mig-activation = auto
[gpu]
model = A100-80
mig-activation = auto
[gpu]
model = H100-80
[gpu]
model = H100-PCIE
[gpu]
model = H200-141
[gpu]
model = B200-180
`

// TestLayoutCounts holds the tables to the numbers that are derived from the
// published ones.
func TestLayoutCounts(t *testing.T) {
	_, lib := open(t, allMIGModels)
	n, r := lib.DeviceGetCount()
	must(t, "DeviceGetCount", r)
	for i := range n {
		d := deviceAt(t, lib, i)
		model, _ := d.GetName()
		compute, expected := uint32(7), map[string]counts{"standard": {298, 19, 38, 14}, "doubled": {723, 78, 78, 38}}
		if i == 0 {
			compute, expected = 4, map[string]counts{"standard": {26, 5, 10, 4}}
		}
		for set, want := range expected {
			all := parts(t, d, map[string][]int{"standard": standard, "doubled": doubled}[set])
			ls := layouts(all, compute)
			got := count(ls, all, compute)
			if got != want {
				t.Errorf("%s %s: %+v, want %+v", model, set, got, want)
			}
		}
	}
}

// TestEveryLayout builds every legal layout of every model in a random order
// of creation. In each it tries every profile at every placement: what the rule
// book allows must succeed, everything else must be refused as hardware does.
func TestEveryLayout(t *testing.T) {
	_, lib := open(t, allMIGModels)
	n, r := lib.DeviceGetCount()
	must(t, "DeviceGetCount", r)
	for i := range n {
		d := deviceAt(t, lib, i)
		migOn(t, d)
		compute := uint32(7)
		if i == 0 {
			compute = 4
		}
		if testing.Short() && i > 1 {
			break
		}
		enums := every
		if i > 1 {
			enums = doubled // the other models have the rules of GPU 1; +me is tried there
		}
		all := parts(t, d, enums)
		ls := layouts(all, compute)
		for _, layout := range ls {
			buildLayout(t, d, layout, all, compute)
		}
		model, _ := d.GetName()
		t.Logf("%s: %d layouts", model, len(ls))
	}
}

func buildLayout(t *testing.T, d nvml.Device, layout, all []part, compute uint32) {
	t.Helper()
	order := slices.Clone(layout)
	rand.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	made := make([]nvml.GpuInstance, 0, len(order))
	for _, p := range order {
		gi, r := create(d, p)
		must(t, fmt.Sprintf("create %d:%d for layout %s", p.start, p.size, multiset(layout)), r)
		made = append(made, gi)
	}
	free := map[uint32]int{}
	for _, p := range all {
		gi, r := create(d, p)
		if !fits(layout, p, compute) {
			expect(t, fmt.Sprintf("enum %d at %d beside %s", p.enum, p.start, multiset(layout)), r, nvml.ERROR_INSUFFICIENT_RESOURCES)
			continue
		}
		must(t, "create what fits", r)
		must(t, "destroy it", gi.Destroy())
		free[p.info.Id]++
	}
	for _, p := range all {
		left, r := d.GetGpuInstanceRemainingCapacity(&p.info)
		must(t, "GetGpuInstanceRemainingCapacity", r)
		if (left > 0) != (free[p.info.Id] > 0) || left > free[p.info.Id] {
			t.Fatalf("enum %d beside %s: capacity %d, but %d placements accept it", p.enum, multiset(layout), left, free[p.info.Id])
		}
	}
	for _, gi := range made {
		must(t, "Destroy", gi.Destroy())
	}
}

func create(d nvml.Device, p part) (nvml.GpuInstance, nvml.Return) {
	return d.CreateGpuInstanceWithPlacement(&p.info, &nvml.GpuInstancePlacement{Start: p.start, Size: p.size})
}

// TestCreationOrderMatters is the guide's example: without placements,
// 19,19,14,9 fails on the last, and 9 first succeeds.
func TestCreationOrderMatters(t *testing.T) {
	_, lib := open(t, "[gpu]\nmodel = A100-40\nmig-activation = auto\n")
	d := deviceAt(t, lib, 0)
	migOn(t, d)
	byID := map[int]int{19: nvml.GPU_INSTANCE_PROFILE_1_SLICE, 14: nvml.GPU_INSTANCE_PROFILE_2_SLICE, 9: nvml.GPU_INSTANCE_PROFILE_3_SLICE}
	for _, tc := range []struct {
		order []int
		last  nvml.Return
	}{
		{[]int{19, 19, 14, 9}, nvml.ERROR_INSUFFICIENT_RESOURCES},
		{[]int{9, 14, 19, 19}, nvml.SUCCESS},
	} {
		var made []nvml.GpuInstance
		for i, id := range tc.order {
			info := profile(t, d, byID[id])
			if int(info.Id) != id {
				t.Fatalf("enum %d has driver id %d, want %d", byID[id], info.Id, id)
			}
			gi, r := d.CreateGpuInstance(&info)
			want := nvml.SUCCESS
			if i == len(tc.order)-1 {
				want = tc.last
			}
			expect(t, fmt.Sprintf("%v: creation %d", tc.order, i), r, want)
			if r == nvml.SUCCESS {
				made = append(made, gi)
			}
		}
		for _, gi := range made {
			must(t, "Destroy", gi.Destroy())
		}
	}
}
