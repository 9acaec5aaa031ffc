// SPDX-License-Identifier: Apache-2.0

package gpusim

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

// childFill waits for a line, then creates 1g instances of GPU 0 until refused
// and prints where they are; at the next line it destroys them and says so.
func childFill(lib nvml.Interface) error {
	d, _ := lib.DeviceGetHandleByIndex(0)
	info, r := d.GetGpuInstanceProfileInfo(nvml.GPU_INSTANCE_PROFILE_1_SLICE)
	if r != nvml.SUCCESS {
		return r
	}
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var made []nvml.GpuInstance
		var starts []string
		for {
			gi, r := d.CreateGpuInstance(&info)
			if r == nvml.ERROR_INSUFFICIENT_RESOURCES {
				break
			}
			if r != nvml.SUCCESS {
				return r
			}
			own, _ := gi.GetInfo()
			made, starts = append(made, gi), append(starts, fmt.Sprint(own.Placement.Start))
		}
		fmt.Println(strings.Join(starts, " "))
		lines.Scan()
		for _, gi := range made {
			if r := gi.Destroy(); r != nvml.SUCCESS {
				return r
			}
		}
		fmt.Println("cleared")
	}
	return nil
}

// TestTwoProcessesCreate: together they get each slice once, neither less nor
// more than there is.
func TestTwoProcessesCreate(t *testing.T) {
	m, lib := open(t, ThreeH200)
	migOn(t, deviceAt(t, lib, 0))
	a, b := startChild(t, m, "fill"), startChild(t, m, "fill")
	m.Ctl("latency", "DeviceCreateGpuInstance", "1") // lets the other one in between
	shared := 0
	for round := 0; round < 20 || shared < 10; round++ {
		if round == 1000 {
			t.Fatalf("the processes met in %d of 1000 rounds only", shared)
		}
		a.say(t, "go")
		b.say(t, "go")
		first, second := strings.Fields(a.hear(t)), strings.Fields(b.hear(t))
		all := slices.Sorted(slices.Values(append(slices.Clone(first), second...)))
		if !slices.Equal(all, []string{"0", "1", "2", "3", "4", "5", "6"}) {
			t.Fatalf("one process got %v, the other %v", first, second)
		}
		if len(first) > 0 && len(second) > 0 {
			shared++
		}
		for _, c := range []*child{a, b} {
			c.say(t, "clear")
			c.hear(t)
		}
	}
}

// childChurn creates and destroys instances without end, a line for each.
func childChurn(lib nvml.Interface) error {
	d, _ := lib.DeviceGetHandleByIndex(0)
	info, r := d.GetGpuInstanceProfileInfo(nvml.GPU_INSTANCE_PROFILE_2_SLICE)
	if r != nvml.SUCCESS {
		return r
	}
	for {
		gi, r := d.CreateGpuInstance(&info)
		if r != nvml.SUCCESS {
			return r
		}
		p, _ := gi.GetComputeInstanceProfileInfo(nvml.COMPUTE_INSTANCE_PROFILE_1_SLICE, 0)
		ci, r := gi.CreateComputeInstance(&p)
		if r != nvml.SUCCESS {
			return r
		}
		fmt.Println("made")
		if r := ci.Destroy(); r != nvml.SUCCESS {
			return r
		}
		if r := gi.Destroy(); r != nvml.SUCCESS {
			return r
		}
	}
}

// TestKilledProcess: a process killed at any moment leaves a machine on which
// others can go on: what it left can be found and destroyed, and then the whole
// GPU can be filled. (That the lock itself survives is proven in ctest.)
func TestKilledProcess(t *testing.T) {
	m, lib := open(t, ThreeH200)
	d := deviceAt(t, lib, 0)
	migOn(t, d)
	for range 25 {
		c := startChild(t, m, "churn")
		for range 1 + rand.IntN(200) {
			c.hear(t)
		}
		if err := c.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = c.cmd.Wait()
		clearGPU(t, d)
		info := profile(t, d, nvml.GPU_INSTANCE_PROFILE_7_SLICE)
		gi, r := d.CreateGpuInstance(&info)
		must(t, "create over the whole GPU", r)
		must(t, "destroy it", gi.Destroy())
	}
}

func clearGPU(t *testing.T, d nvml.Device) {
	t.Helper()
	for e := range nvml.GPU_INSTANCE_PROFILE_COUNT {
		info, r := d.GetGpuInstanceProfileInfo(e)
		if r != nvml.SUCCESS {
			continue
		}
		gis, r := d.GetGpuInstances(&info)
		must(t, "GetGpuInstances", r)
		for _, gi := range gis {
			for c := range nvml.COMPUTE_INSTANCE_PROFILE_COUNT {
				p, r := gi.GetComputeInstanceProfileInfo(c, 0)
				if r != nvml.SUCCESS {
					continue
				}
				cis, r := gi.GetComputeInstances(&p)
				must(t, "GetComputeInstances", r)
				for _, ci := range cis {
					must(t, "destroy a left CI", ci.Destroy())
				}
			}
			must(t, "destroy a left GI", gi.Destroy())
		}
	}
}

// TestParallelMachines: machines do not see each other, whatever runs on them.
func TestParallelMachines(t *testing.T) {
	for i := range 4 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			m := New(t, ThreeH200)
			m.Ctl("util", "0", fmt.Sprint(10+i))
			m.Ctl("process", "add", "1", fmt.Sprint(1000+i))
			s := m.state(t)
			if len(s.GPUs[1].Processes) != 1 || s.GPUs[1].Processes[0].PID != 1000+i {
				t.Errorf("machine %d: %+v", i, s.GPUs[1].Processes)
			}
		})
	}
}
