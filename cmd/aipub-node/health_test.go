// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"aipub.io/aipub/gpu"
	"aipub.io/aipub/test/gpusim"
)

func TestALostGPUKeepsItsSlicesAndComesBack(t *testing.T) {
	r := newRig(t, gpusim.ThreeH200)
	r.want(threeWays)
	r.start()
	r.allocatable("mig", 7)
	_, ids := r.pod("mig", 1)
	want := r.everything()

	r.machine.Ctl("lose", "1")
	r.allocatable("mig", 0)
	r.allocatable("large", 1)
	r.eventually("an event", func() bool { return r.news.has("Warning", "DeviceLost") })
	r.want(threeWays) // a look at the hardware while it is gone
	r.reason("Hardware")
	r.allocatable("small", 4)
	if diff := cmp.Diff(want, r.everything()); diff != "" {
		t.Errorf("devices (-want +got):\n%s", diff)
	}

	r.machine.Ctl("recover", "1") // without its instances
	r.allocatable("mig", 7)
	r.reason("Applied")
	if st := r.slice(ids[0]); st.State != gpu.StateHeld || st.Instance == nil {
		t.Errorf("the held slice is %s on %v; want Held on a new instance", st.State, st.Instance)
	}
	if !r.news.has("Normal", "Healthy") {
		t.Errorf("events: %v", r.news.list)
	}
}

func TestARestartBesideALostGPUKeepsItsSlices(t *testing.T) {
	r := newRig(t, gpusim.ThreeH200)
	r.want(threeWays)
	r.start()
	r.allocatable("large", 1)
	r.reason("Applied")
	want := r.everything()
	r.end()

	r.machine.Ctl("lose", "2")
	r.start()
	r.allocatable("large", 0)
	r.allocatable("small", 4)
	r.want(threeWays)
	r.eventually("it to be told unhealthy", func() bool {
		for _, g := range r.reports.status().GPUs {
			if g.Index == 2 {
				return !g.Health.OK
			}
		}
		return false
	})
	if diff := cmp.Diff(want, r.everything()); diff != "" {
		t.Errorf("devices (-want +got):\n%s", diff)
	}
	r.machine.Ctl("recover", "2")
	r.allocatable("large", 1)
	r.reason("Applied")
}
