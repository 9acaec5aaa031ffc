// SPDX-License-Identifier: Apache-2.0

package nvml

import (
	"slices"
	"strconv"
	"testing"

	gonvml "github.com/NVIDIA/go-nvml/pkg/nvml"

	"aipub.io/aipub/gpu"
	"aipub.io/aipub/test/gpusim"
)

// must turns an answer of the driver into a fatal error.
func must(t *testing.T, ret gonvml.Return) {
	t.Helper()
	if ret != gonvml.SUCCESS {
		t.Fatalf("driver: %v", ret)
	}
}

// makeGI makes a GPU instance, and turns MIG mode on before.
func makeGI(t *testing.T, d *Driver, g gpu.GPU, profile string, start int) gonvml.GpuInstance {
	t.Helper()
	b, err := d.board(g.UUID)
	if err != nil {
		t.Fatal(err)
	}
	_, ret := b.device().SetMigMode(gonvml.DEVICE_MIG_ENABLE)
	must(t, ret)
	p := findProfile(t, g, profile)
	info, ret := b.device().GetGpuInstanceProfileInfo(p.Enum)
	must(t, ret)
	gi, ret := b.device().CreateGpuInstanceWithPlacement(&info, &gonvml.GpuInstancePlacement{
		Start: uint32(start), Size: uint32(p.MemorySlices)})
	must(t, ret)
	return gi
}

// addCI gives a GPU instance a compute instance of an NVML profile.
func addCI(t *testing.T, gi gonvml.GpuInstance, enum int) {
	t.Helper()
	info, ret := gi.GetComputeInstanceProfileInfo(enum, gonvml.COMPUTE_INSTANCE_ENGINE_PROFILE_SHARED)
	must(t, ret)
	_, ret = gi.CreateComputeInstance(&info)
	must(t, ret)
}

// makeInstance makes a whole instance of one compute slice.
func makeInstance(t *testing.T, d *Driver, g gpu.GPU, profile string, start int) gpu.Instance {
	t.Helper()
	addCI(t, makeGI(t, d, g, profile, start), gonvml.COMPUTE_INSTANCE_PROFILE_1_SLICE)
	all, err := d.Instances(testContext(t), g.UUID)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(all, func(i gpu.Instance) bool { return i.Placement.Start == start })
	if i < 0 || all[i].UUID == "" {
		t.Fatalf("made an instance, but see %+v", all)
	}
	return all[i]
}

func destroyInstance(t *testing.T, d *Driver, inst gpu.Instance) {
	t.Helper()
	b, err := d.board(inst.GPU)
	if err != nil {
		t.Fatal(err)
	}
	gi, ret := b.device().GetGpuInstanceById(inst.GIID)
	must(t, ret)
	ci, ret := gi.GetComputeInstanceById(inst.CIID)
	must(t, ret)
	must(t, ci.Destroy())
	must(t, gi.Destroy())
}

func TestInstancesOfEveryShape(t *testing.T) {
	d, _ := openSim(t, gpusim.ThreeH200)
	g := mustInventory(t, d).GPUs[0]
	if got, err := d.Instances(testContext(t), g.UUID); err != nil || len(got) != 0 {
		t.Fatalf("with MIG off: %v, %v", got, err)
	}
	makeGI(t, d, g, "2g.35gb", 4)                                                    // no compute instance
	addCI(t, makeGI(t, d, g, "2g.35gb", 2), gonvml.COMPUTE_INSTANCE_PROFILE_1_SLICE) // half of it
	whole := makeInstance(t, d, g, "1g.35gb", 6)                                     // ours, double memory
	addCI(t, makeGI(t, d, g, "2g.35gb", 0), gonvml.COMPUTE_INSTANCE_PROFILE_2_SLICE) // ours
	got, err := d.Instances(testContext(t), g.UUID)
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 4 {
		t.Fatalf("%d instances: %+v", len(got), got)
	}
	for i, wantCI := range []bool{true, false, false, true} {
		inst := got[i]
		if inst.GPU != g.UUID || inst.Placement != (gpu.Placement{Start: 2 * i, Size: 2}) {
			t.Errorf("instance %d: %+v", i, inst)
		}
		if (inst.CIID >= 0) != wantCI || (inst.UUID != "") != wantCI {
			t.Errorf("instance at %d has compute instance %d, UUID %q", 2*i, inst.CIID, inst.UUID)
		}
	}
	if got[3] != whole {
		t.Errorf("instance changed from %+v to %+v", whole, got[3])
	}
	if after := mustInventory(t, d).GPUs[0]; !after.MIG.Enabled || len(after.MIG.Profiles) != len(g.MIG.Profiles) {
		t.Errorf("inventory with MIG on: %+v", after.MIG)
	}
}

func TestProcessesInInstances(t *testing.T) {
	d, m := openSim(t, gpusim.ThreeH200)
	g := mustInventory(t, d).GPUs[0]
	inst := makeInstance(t, d, g, "1g.18gb", 0)
	m.Ctl("process", "add", "0/"+strconv.Itoa(inst.GIID)+"/"+strconv.Itoa(inst.CIID), "99")
	got, err := d.Processes(testContext(t), g.UUID)
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 1 || got[0].PID != 99 || got[0].GIID != inst.GIID || got[0].CIID != inst.CIID {
		t.Errorf("processes %+v, instance %+v", got, inst)
	}
}
