// SPDX-License-Identifier: Apache-2.0

package gpusim

import (
	"slices"
	"testing"

	"github.com/NVIDIA/go-nvlib/pkg/nvlib/device"
	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

// TestPublishedProfiles: the numbers of real listings, by driver id.
func TestPublishedProfiles(t *testing.T) {
	_, lib := open(t, allMIGModels)
	type row struct{ id, max, sms, slices, mib uint64 }
	for i, want := range [][]row{
		{{14, 4, 14, 1, 5952}, {5, 2, 28, 2, 11968}, {0, 1, 56, 4, 24064}, {21, 1, 14, 1, 5952}},
		{{19, 7, 14, 1, 4864}, {15, 4, 14, 1, 9856}, {14, 3, 28, 2, 9856}, {9, 2, 42, 3, 19968}, {5, 1, 56, 4, 19968}, {0, 1, 98, 7, 40192}, {20, 1, 14, 1, 4864}},
		{{19, 7, 14, 1, 9728}, {15, 4, 14, 1, 19968}, {9, 2, 42, 3, 40192}, {0, 1, 98, 7, 80896}},
		{{19, 7, 16, 1, 9984}, {15, 4, 26, 1, 20096}, {14, 3, 32, 2, 20096}, {9, 2, 60, 3, 40448}, {5, 1, 64, 4, 40448}, {0, 1, 132, 7, 81152}},
		{{19, 7, 14, 1, 9984}, {14, 3, 30, 2, 20096}, {9, 2, 46, 3, 40448}, {5, 1, 62, 4, 40448}, {0, 1, 114, 7, 81152}},
		{{19, 7, 16, 1, 17920}, {14, 3, 32, 2, 35840}, {9, 2, 60, 3, 71680}, {0, 1, 132, 7, 143360}},
		{{19, 7, 18, 1, 22784}},
	} {
		d := deviceAt(t, lib, i)
		var got []row
		for e := range nvml.GPU_INSTANCE_PROFILE_COUNT {
			if p, r := d.GetGpuInstanceProfileInfo(e); r == nvml.SUCCESS {
				got = append(got, row{uint64(p.Id), uint64(p.InstanceCount), uint64(p.MultiprocessorCount), uint64(p.SliceCount), p.MemorySizeMB})
			} else {
				expect(t, "a profile that the model lacks", r, nvml.ERROR_NOT_SUPPORTED)
			}
		}
		for _, w := range want {
			if !slices.Contains(got, w) {
				t.Errorf("GPU %d: no profile is %+v among %+v", i, w, got)
			}
		}
		_, r := d.GetGpuInstanceProfileInfo(nvml.GPU_INSTANCE_PROFILE_COUNT)
		expect(t, "profile enum out of range", r, nvml.ERROR_INVALID_ARGUMENT)
	}
}

// TestProfileNames: go-nvlib derives the names that users know, and walks MIG
// devices as the device plugin does.
func TestProfileNames(t *testing.T) {
	_, lib := open(t, allMIGModels)
	nvlib := device.New(lib)
	want := map[string][]string{
		"NVIDIA A30":            {"1g.6gb", "1g.6gb+me", "2g.12gb", "4g.24gb"},
		"NVIDIA A100-SXM4-40GB": {"1g.5gb", "1g.5gb+me", "1g.10gb", "2g.10gb", "3g.20gb", "4g.20gb", "7g.40gb"},
		"NVIDIA A100-SXM4-80GB": {"1g.10gb", "1g.20gb", "2g.20gb", "3g.40gb", "4g.40gb", "7g.80gb"},
		"NVIDIA H100 80GB HBM3": {"1g.10gb", "1g.20gb", "2g.20gb", "3g.40gb", "4g.40gb", "7g.80gb"},
		"NVIDIA H100 PCIe":      {"1g.10gb", "1g.20gb", "2g.20gb", "3g.40gb", "4g.40gb", "7g.80gb"},
		"NVIDIA H200":           {"1g.18gb", "1g.35gb", "2g.35gb", "3g.71gb", "4g.71gb", "7g.141gb"},
		"NVIDIA B200":           {"1g.23gb", "1g.45gb", "2g.45gb", "3g.90gb", "4g.90gb", "7g.180gb"},
	}
	seen := 0
	err := nvlib.VisitDevices(func(_ int, d device.Device) error {
		model, _ := d.GetName()
		profiles, err := d.GetMigProfiles()
		for _, w := range want[model] {
			if !slices.ContainsFunc(profiles, func(p device.MigProfile) bool { return p.String() == w }) {
				t.Errorf("%s: go-nvlib finds no %s among %v", model, w, profiles)
			}
		}
		seen++
		return err
	})
	if err != nil || seen != len(want) {
		t.Fatalf("visited %d of %d GPUs: %v", seen, len(want), err)
	}

	d := deviceAt(t, lib, 5)
	migOn(t, d)
	instance(t, d, nvml.GPU_INSTANCE_PROFILE_3_SLICE)
	info := profile(t, d, nvml.GPU_INSTANCE_PROFILE_2_SLICE)
	gi, r := d.CreateGpuInstance(&info)
	must(t, "CreateGpuInstance", r)
	compute(t, gi, 1)
	var got []string
	err = nvlib.VisitMigDevices(func(_ int, _ device.Device, j int, m device.MigDevice) error {
		p, err := m.GetProfile()
		if err != nil {
			return err
		}
		if index, r := m.GetIndex(); r != nvml.SUCCESS || index != j {
			t.Errorf("MIG device %d says index %d", j, index)
		}
		got = append(got, p.String())
		return nil
	})
	slices.Sort(got)
	if err != nil || !slices.Equal(got, []string{"1c.2g.35gb", "3g.71gb"}) {
		t.Errorf("MIG devices %v, %v", got, err)
	}
}

// TestCreateRefusals: hardware's codes for what cannot be created.
func TestCreateRefusals(t *testing.T) {
	_, lib := open(t, ThreeH200)
	d := deviceAt(t, lib, 0)
	migOn(t, d)
	three, one := profile(t, d, nvml.GPU_INSTANCE_PROFILE_3_SLICE), profile(t, d, nvml.GPU_INSTANCE_PROFILE_1_SLICE)
	media := profile(t, d, nvml.GPU_INSTANCE_PROFILE_1_SLICE_REV1)
	at := func(info nvml.GpuInstanceProfileInfo, start, size uint32) (nvml.GpuInstance, nvml.Return) {
		return d.CreateGpuInstanceWithPlacement(&info, &nvml.GpuInstancePlacement{Start: start, Size: size})
	}
	for _, tc := range []struct {
		what        string
		info        nvml.GpuInstanceProfileInfo
		start, size uint32
		want        nvml.Return
	}{
		{"a start that the profile lacks", three, 2, 4, nvml.ERROR_INVALID_ARGUMENT},
		{"1g at slice 7", one, 7, 1, nvml.ERROR_INVALID_ARGUMENT},
		{"another size", three, 0, 3, nvml.ERROR_INVALID_ARGUMENT},
		{"beyond the GPU", one, 99, 1, nvml.ERROR_INVALID_ARGUMENT},
		{"an unknown profile id", nvml.GpuInstanceProfileInfo{Id: 99}, 0, 1, nvml.ERROR_NOT_SUPPORTED},
		{"3g at 4", three, 4, 4, nvml.SUCCESS},
		{"3g at 4 again", three, 4, 4, nvml.ERROR_INSUFFICIENT_RESOURCES},
		{"1g under it", one, 5, 1, nvml.ERROR_INSUFFICIENT_RESOURCES},
		{"1g+me", media, 0, 1, nvml.SUCCESS},
		{"a second +me", media, 1, 1, nvml.ERROR_INSUFFICIENT_RESOURCES},
		{"1g beside it", one, 1, 1, nvml.SUCCESS},
	} {
		_, r := at(tc.info, tc.start, tc.size)
		expect(t, tc.what, r, tc.want)
	}
}

// TestInstanceIdentity: ids are reused, UUIDs never, and handles of what was
// destroyed are refused even when their slot is taken again.
func TestInstanceIdentity(t *testing.T) {
	_, lib := open(t, ThreeH200)
	d := deviceAt(t, lib, 0)
	migOn(t, d)
	gi, ci := instance(t, d, nvml.GPU_INSTANCE_PROFILE_1_SLICE)
	info, _ := gi.GetInfo()
	mig, uuid := migDevice(t, ci)
	must(t, "destroy CI", ci.Destroy())
	expect(t, "destroy it twice", ci.Destroy(), nvml.ERROR_INVALID_ARGUMENT)
	must(t, "destroy GI", gi.Destroy())
	_, r := d.GetGpuInstanceById(int(info.Id))
	expect(t, "by id when gone", r, nvml.ERROR_NOT_FOUND)

	gi2, ci2 := instance(t, d, nvml.GPU_INSTANCE_PROFILE_1_SLICE)
	info2, _ := gi2.GetInfo()
	mig2, uuid2 := migDevice(t, ci2)
	if info2.Id != info.Id || info2.Placement != info.Placement {
		t.Errorf("the same place has id %d, then %d", info.Id, info2.Id)
	}
	if uuid2 == uuid {
		t.Error("a new instance has the UUID of the old one")
	}
	_, r = gi.GetInfo()
	expect(t, "the old GI handle", r, nvml.ERROR_INVALID_ARGUMENT)
	_, r = ci.GetInfo()
	expect(t, "the old CI handle", r, nvml.ERROR_INVALID_ARGUMENT)
	_, r = mig.GetUUID()
	expect(t, "the old MIG handle", r, nvml.ERROR_INVALID_ARGUMENT)
	_, r = lib.DeviceGetHandleByUUID(uuid)
	expect(t, "the old UUID", r, nvml.ERROR_NOT_FOUND)
	byUUID, r := lib.DeviceGetHandleByUUID(uuid2)
	must(t, "the new UUID", r)
	if byUUID != mig2 {
		t.Error("a MIG device has two handles")
	}
	same, r := d.GetGpuInstanceById(int(info2.Id))
	must(t, "by id", r)
	if same != gi2 {
		t.Error("a GPU instance has two handles")
	}
}

// TestComputeInstances: parts of a GPU instance, their limits, and the MIG
// devices that they are.
func TestComputeInstances(t *testing.T) {
	_, lib := open(t, ThreeH200)
	d := deviceAt(t, lib, 0)
	migOn(t, d)
	info := profile(t, d, nvml.GPU_INSTANCE_PROFILE_7_SLICE)
	gi, r := d.CreateGpuInstance(&info)
	must(t, "CreateGpuInstance", r)
	max := map[int]uint32{0: 7, 1: 3, 2: 2, 3: 1, 4: 1}
	for e := range nvml.COMPUTE_INSTANCE_PROFILE_COUNT {
		p, r := gi.GetComputeInstanceProfileInfo(e, 0)
		if _, offered := max[e]; !offered {
			expect(t, "a compute profile that 7g lacks", r, nvml.ERROR_NOT_SUPPORTED)
			continue
		}
		must(t, "GetComputeInstanceProfileInfo", r)
		places, _ := gi.GetComputeInstancePossiblePlacements(&p)
		if p.InstanceCount != max[e] || len(places) != int(max[e]) {
			t.Errorf("enum %d: at most %d at %v, want %d", e, p.InstanceCount, places, max[e])
		}
	}
	_, r = gi.GetComputeInstanceProfileInfo(0, 1)
	expect(t, "an unknown engine profile", r, nvml.ERROR_INVALID_ARGUMENT)

	four, two := compute(t, gi, 4), compute(t, gi, 2)
	p, _ := gi.GetComputeInstanceProfileInfo(nvml.COMPUTE_INSTANCE_PROFILE_2_SLICE, 0)
	_, r = gi.CreateComputeInstance(&p)
	expect(t, "2c beside 4c and 2c", r, nvml.ERROR_INSUFFICIENT_RESOURCES)
	_, r = gi.CreateComputeInstanceWithPlacement(&p, &nvml.ComputeInstancePlacement{Start: 1, Size: 2})
	expect(t, "2c at 1", r, nvml.ERROR_INVALID_ARGUMENT)
	one := compute(t, gi, 1)
	fourDevice, _ := migDevice(t, four)
	attributes, r := fourDevice.GetAttributes()
	must(t, "GetAttributes", r)
	if attributes.ComputeInstanceSliceCount != 4 || attributes.GpuInstanceSliceCount != 7 || attributes.MultiprocessorCount != 64 || attributes.MemorySizeMB != 143360 {
		t.Errorf("attributes %+v", attributes)
	}
	for i, ci := range []nvml.ComputeInstance{four, two, one} {
		mig, _ := migDevice(t, ci)
		isMIG, _ := mig.IsMigDeviceHandle()
		gid, _ := mig.GetGpuInstanceId()
		cid, _ := mig.GetComputeInstanceId()
		parent, r := mig.GetDeviceHandleFromMigDeviceHandle()
		must(t, "parent", r)
		byIndex, r := d.GetMigDeviceHandleByIndex(i)
		must(t, "GetMigDeviceHandleByIndex", r)
		if !isMIG || gid != 0 || cid != i || parent != d || byIndex != mig {
			t.Errorf("MIG device %d: %v, GI %d, CI %d, parent %v", i, isMIG, gid, cid, parent)
		}
	}
	_, r = d.GetMigDeviceHandleByIndex(3)
	expect(t, "a MIG device too many", r, nvml.ERROR_NOT_FOUND)
	_, r = d.GetMigDeviceHandleByIndex(7)
	expect(t, "an index out of range", r, nvml.ERROR_INVALID_ARGUMENT)
	if n, _ := d.GetMaxMigDeviceCount(); n != 7 {
		t.Errorf("at most %d MIG devices, want 7", n)
	}
	_, r = d.GetGpuInstanceId()
	expect(t, "GI id of a whole GPU", r, nvml.ERROR_INVALID_ARGUMENT)
	list, r := gi.GetComputeInstances(&p)
	must(t, "GetComputeInstances", r)
	if len(list) != 1 || list[0] != two {
		t.Errorf("2c instances: %v", list)
	}
}
