// SPDX-License-Identifier: Apache-2.0

package gpusim

import (
	"testing"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

// TestInjectedFailure: exactly N times, in every version of the call, without
// the call's effect.
func TestInjectedFailure(t *testing.T) {
	m, lib := open(t, ThreeH200)
	d := deviceAt(t, lib, 0)
	migOn(t, d)
	gi, ci := instance(t, d, nvml.GPU_INSTANCE_PROFILE_1_SLICE)
	m.Ctl("fail", "ComputeInstanceDestroy", "IN_USE", "--times", "2")
	expect(t, "first", ci.Destroy(), nvml.ERROR_IN_USE)
	expect(t, "second", ci.Destroy(), nvml.ERROR_IN_USE)
	must(t, "third", ci.Destroy())

	m.Ctl("fail", "nvmlGpuInstanceDestroy", "GPU_IS_LOST")
	for range 5 {
		expect(t, "always", gi.Destroy(), nvml.ERROR_GPU_IS_LOST)
	}
	m.Ctl("fail", "nvmlGpuInstanceDestroy", "SUCCESS")
	must(t, "cleared", gi.Destroy())

	m.Ctl("fail", "Init", "DRIVER_NOT_LOADED", "--times", "1")
	expect(t, "Init", lib.Init(), nvml.ERROR_DRIVER_NOT_LOADED)
	_, r := d.GetUUID()
	must(t, "the session that was open", r)
}

// TestLatency: the slow call is slow, others are not held up by it.
func TestLatency(t *testing.T) {
	m, lib := open(t, ThreeH200)
	d := deviceAt(t, lib, 0)
	migOn(t, d)
	gi, ci := instance(t, d, nvml.GPU_INSTANCE_PROFILE_1_SLICE)
	must(t, "destroy CI", ci.Destroy())
	m.Ctl("latency", "GpuInstanceDestroy", "1500")
	start := time.Now()
	done := make(chan nvml.Return)
	go func() { done <- gi.Destroy() }()
	for range 100 {
		_, r := d.GetUUID()
		must(t, "a call meanwhile", r)
	}
	select {
	case <-done:
		t.Fatal("100 other calls took as long as the slow one")
	default:
	}
	must(t, "the slow call", <-done)
	if took := time.Since(start); took < 1500*time.Millisecond {
		t.Errorf("the slow call took %v, want 1.5 s", took)
	}
	m.Ctl("latency", "GpuInstanceDestroy", "0")
}
