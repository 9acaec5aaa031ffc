// SPDX-License-Identifier: Apache-2.0

package nvml

import (
	"testing"

	"aipub.io/aipub/test/gpusim"
)

func TestLoadIsThePeakSinceTheLastCall(t *testing.T) {
	d, m := openSim(t, gpusim.ThreeH200)
	uuid := mustInventory(t, d).GPUs[2].UUID
	load := func(since uint64) Load {
		t.Helper()
		l, err := d.Load(testContext(t), uuid, since)
		if err != nil || !l.Known {
			t.Fatalf("%+v, %v", l, err)
		}
		return l
	}
	if l := load(0); l.PeakPercent != 0 {
		t.Errorf("an idle GPU: %+v", l)
	}
	m.Ctl("util", "2", "42")
	if l := load(0); l.PeakPercent != 42 {
		t.Errorf("a busy GPU: %+v, want 42%%", l)
	}
	m.Ctl("util", "2", "0")
	m.Ctl("process", "add", "2", "4711", "--memory", "512MiB", "--sm", "37")
	first := load(0)
	if first.PeakPercent != 0 || first.Seen == 0 {
		t.Errorf("at first only this moment counts: %+v", first)
	}
	if l := load(first.Seen); l.PeakPercent != 37 {
		t.Errorf("what a process did since: %+v, want 37%%", l)
	}
}

func TestUnderMIGTheLoadIsNotKnown(t *testing.T) {
	d, _ := openSim(t, gpusim.ThreeH200)
	g := mustInventory(t, d).GPUs[1]
	makeGI(t, d, g, "1g.18gb", 0)
	if l, err := d.Load(testContext(t), g.UUID, 0); err != nil || l.Known || l.PeakPercent != 0 {
		t.Errorf("%+v, %v; it is not idle, it is not seen", l, err)
	}
}

func TestALostGPUIsAnError(t *testing.T) {
	d, m := openSim(t, gpusim.ThreeH200)
	uuid := mustInventory(t, d).GPUs[0].UUID
	m.Ctl("lose", "0")
	if l, err := d.Load(testContext(t), uuid, 0); err == nil {
		t.Errorf("a GPU that is gone has a load: %+v", l)
	}
}
