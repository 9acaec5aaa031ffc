// SPDX-License-Identifier: Apache-2.0

package gpusim

import (
	"fmt"
	"testing"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

// TestWholeGPUClients: memory, lists and samples follow the clients.
func TestWholeGPUClients(t *testing.T) {
	m, lib := open(t, ThreeH200)
	d := deviceAt(t, lib, 1)
	_, r := d.GetProcessUtilization(0)
	expect(t, "samples without clients", r, nvml.ERROR_NOT_FOUND)
	for i := range 5 {
		m.Ctl("process", "add", "1", fmt.Sprint(100+i), "--memory", "1GiB", "--sm", fmt.Sprint(10*i))
	}
	m.Ctl("process", "add", "1", "200", "--memory", "2GiB", "--kind", "mps")

	running, r := d.GetComputeRunningProcesses()
	must(t, "GetComputeRunningProcesses", r)
	if len(running) != 5 || running[0].Pid != 100 || running[0].UsedGpuMemory != 1<<30 || running[0].GpuInstanceId != 0xFFFFFFFF {
		t.Errorf("running: %+v", running)
	}
	mps, r := d.GetMPSComputeRunningProcesses()
	must(t, "GetMPSComputeRunningProcesses", r)
	if len(mps) != 1 || mps[0].Pid != 200 {
		t.Errorf("MPS: %+v", mps)
	}
	v2, r := d.GetMemoryInfo_v2()
	must(t, "GetMemoryInfo_v2", r)
	v1, _ := d.GetMemoryInfo()
	if v2.Used != 7<<30 || v2.Total != v2.Used+v2.Reserved+v2.Free || v1.Used != v2.Used+v2.Reserved || v1.Free != v2.Free {
		t.Errorf("memory v1 %+v, v2 %+v", v1, v2)
	}
	samples, r := d.GetProcessUtilization(0)
	must(t, "GetProcessUtilization", r)
	if len(samples) != 6 || samples[3].SmUtil != 30 || samples[3].Pid != 103 {
		t.Errorf("samples: %+v", samples)
	}
	_, r = d.GetProcessUtilization(samples[0].TimeStamp + 3600e6)
	expect(t, "samples newer than the future", r, nvml.ERROR_NOT_FOUND)

	m.Ctl("util", "1", "73", "--memory", "20")
	util, r := d.GetUtilizationRates()
	must(t, "GetUtilizationRates", r)
	if util.Gpu != 73 || util.Memory != 20 {
		t.Errorf("utilization %+v", util)
	}
	m.Ctl("process", "rm", "1", "100")
	if running, _ := d.GetComputeRunningProcesses(); len(running) != 4 {
		t.Errorf("%d clients after one left", len(running))
	}
}

// TestMIGClients: a GPU handle sees all, a MIG device its own, and a client
// holds its instances.
func TestMIGClients(t *testing.T) {
	m, lib := open(t, ThreeH200)
	d := deviceAt(t, lib, 0)
	migOn(t, d)
	gi, ci := instance(t, d, nvml.GPU_INSTANCE_PROFILE_3_SLICE)
	_, other := instance(t, d, nvml.GPU_INSTANCE_PROFILE_1_SLICE)
	info, _ := gi.GetInfo()
	mig, _ := migDevice(t, ci)
	otherMIG, _ := migDevice(t, other)

	if _, err := m.TryCtl("process", "add", "0", "9"); err == nil {
		t.Error("a client got the whole GPU in MIG mode")
	}
	m.Ctl("process", "add", fmt.Sprintf("0/%d/0", info.Id), "9", "--memory", "70GiB")
	if _, err := m.TryCtl("process", "add", fmt.Sprintf("0/%d/0", info.Id), "10", "--memory", "1GiB"); err == nil {
		t.Error("clients got more memory than the instance has")
	}
	all, r := d.GetComputeRunningProcesses()
	must(t, "on the GPU", r)
	if len(all) != 1 || all[0].GpuInstanceId != info.Id || all[0].ComputeInstanceId != 0 {
		t.Errorf("on the GPU: %+v", all)
	}
	if own, _ := mig.GetComputeRunningProcesses(); len(own) != 1 {
		t.Errorf("on its MIG device: %+v", own)
	}
	if own, _ := otherMIG.GetComputeRunningProcesses(); len(own) != 0 {
		t.Errorf("on another MIG device: %+v", own)
	}
	memory, r := mig.GetMemoryInfo()
	must(t, "GetMemoryInfo", r)
	if memory.Total != 71680<<20 || memory.Used != 70<<30 {
		t.Errorf("memory of the MIG device %+v", memory)
	}
	_, r = d.GetUtilizationRates()
	expect(t, "utilization in MIG mode", r, nvml.ERROR_NOT_SUPPORTED)
	_, r = d.GetProcessUtilization(0)
	expect(t, "samples in MIG mode", r, nvml.ERROR_NOT_SUPPORTED)

	expect(t, "destroy a CI with a client", ci.Destroy(), nvml.ERROR_IN_USE)
	expect(t, "destroy a GI with a CI and a client", gi.Destroy(), nvml.ERROR_IN_USE)
	if _, err := m.TryCtl("reset", "0"); err == nil {
		t.Error("a GPU with a client was reset")
	}
	m.Ctl("process", "rm", fmt.Sprintf("0/%d/0", info.Id), "9")
	expect(t, "destroy a GI with a CI", gi.Destroy(), nvml.ERROR_IN_USE)
	must(t, "destroy the CI", ci.Destroy())
	must(t, "destroy the GI", gi.Destroy())
}
