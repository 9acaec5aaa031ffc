// SPDX-License-Identifier: Apache-2.0

package gpusim

import (
	"testing"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

const long = uint32(60000) // a wait that must not be needed

func eventSet(t *testing.T, lib nvml.Interface, types uint64, devices ...nvml.Device) nvml.EventSet {
	t.Helper()
	set, r := lib.EventSetCreate()
	must(t, "EventSetCreate", r)
	for _, d := range devices {
		must(t, "RegisterEvents", d.RegisterEvents(types, set))
	}
	t.Cleanup(func() { must(t, "EventSetFree", set.Free()) })
	return set
}

func next(t *testing.T, set nvml.EventSet) nvml.EventData {
	t.Helper()
	e, r := set.Wait(long)
	must(t, "Wait", r)
	return e
}

// TestEvents: each kind arrives once, in order, on the right GPU, with its data.
func TestEvents(t *testing.T) {
	m, lib := open(t, ThreeH200)
	m.Ctl("xid", "1", "13") // before registration: never seen
	devices := []nvml.Device{deviceAt(t, lib, 0), deviceAt(t, lib, 1)}
	types, r := devices[0].GetSupportedEventTypes()
	must(t, "GetSupportedEventTypes", r)
	set := eventSet(t, lib, types, devices...)

	m.Ctl("xid", "2", "48") // not registered
	m.Ctl("xid", "1", "94", "--gi", "3", "--ci", "0")
	m.Ctl("ecc", "0")
	m.Ctl("ecc", "0", "--type", "corrected")
	m.Ctl("recovery-action", "1", "drain-reset")
	m.Ctl("recovery-action", "1", "drain-reset") // no change, no event
	m.Ctl("mig-event", "0")
	const none = 0xFFFFFFFF
	for _, want := range []nvml.EventData{
		{Device: devices[1], EventType: nvml.EventTypeXidCriticalError, EventData: 94, GpuInstanceId: 3, ComputeInstanceId: 0},
		{Device: devices[0], EventType: nvml.EventTypeDoubleBitEccError, GpuInstanceId: none, ComputeInstanceId: none},
		{Device: devices[0], EventType: nvml.EventTypeSingleBitEccError, GpuInstanceId: none, ComputeInstanceId: none},
		{Device: devices[1], EventType: nvml.EventTypeGpuRecoveryAction, EventData: 4, GpuInstanceId: none, ComputeInstanceId: none},
		{Device: devices[0], EventType: nvml.EventMigConfigChange, GpuInstanceId: none, ComputeInstanceId: none},
	} {
		if got := next(t, set); got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
	_, r = set.Wait(0)
	expect(t, "Wait with nothing left", r, nvml.ERROR_TIMEOUT)

	values := []nvml.FieldValue{{FieldId: nvml.FI_DEV_GET_GPU_RECOVERY_ACTION}, {FieldId: 1}}
	must(t, "GetFieldValues", devices[1].GetFieldValues(values))
	if nvml.Return(values[0].NvmlReturn) != nvml.SUCCESS || nvml.DeviceGpuRecoveryAction(values[0].Value[0]) != nvml.GPU_RECOVERY_ACTION_DRAIN_AND_RESET {
		t.Errorf("recovery action field: %+v", values[0])
	}
	if nvml.Return(values[1].NvmlReturn) != nvml.ERROR_NOT_SUPPORTED {
		t.Errorf("unknown field: %+v", values[1])
	}
}

// TestWaitTimeout: the timeout is neither cut short nor overslept.
func TestWaitTimeout(t *testing.T) {
	_, lib := open(t, ThreeH200)
	set := eventSet(t, lib, nvml.EventTypeXidCriticalError, deviceAt(t, lib, 0))
	start := time.Now()
	_, r := set.Wait(150)
	expect(t, "Wait", r, nvml.ERROR_TIMEOUT)
	if took := time.Since(start); took < 150*time.Millisecond || took > 10*time.Second {
		t.Errorf("a wait of 150 ms took %v", took)
	}
}

// TestWaitWakes: an event from another process ends a wait that sleeps.
func TestWaitWakes(t *testing.T) {
	m, lib := open(t, ThreeH200)
	set := eventSet(t, lib, nvml.EventTypeXidCriticalError, deviceAt(t, lib, 0))
	got := make(chan nvml.EventData)
	go func() {
		e, _ := set.Wait(long)
		got <- e
	}()
	m.Ctl("util", "0", "5") // wakes nobody
	m.Ctl("xid", "0", "31")
	if e := <-got; e.EventData != 31 {
		t.Errorf("got %+v", e)
	}
}

// TestEveryWatcherSeesEveryEvent: sets do not take events from each other.
func TestEveryWatcherSeesEveryEvent(t *testing.T) {
	m, lib := open(t, ThreeH200)
	d := deviceAt(t, lib, 0)
	a := eventSet(t, lib, nvml.EventTypeXidCriticalError, d)
	b := eventSet(t, lib, nvml.EventTypeXidCriticalError, d)
	m.Ctl("xid", "0", "62")
	m.Ctl("xid", "0", "63")
	for _, set := range []nvml.EventSet{a, b} {
		if x, y := next(t, set), next(t, set); x.EventData != 62 || y.EventData != 63 {
			t.Errorf("got %d then %d", x.EventData, y.EventData)
		}
	}
}

// TestRegisterRefusals: what a device lacks, and MIG devices.
func TestRegisterRefusals(t *testing.T) {
	_, lib := open(t, ThreeH200+"\n[gpu]\nmodel = T4\n")
	d := deviceAt(t, lib, 0)
	set := eventSet(t, lib, 0)
	expect(t, "unknown bit", d.RegisterEvents(1<<40, set), nvml.ERROR_INVALID_ARGUMENT)
	expect(t, "MIG events of a T4", deviceAt(t, lib, 3).RegisterEvents(nvml.EventMigConfigChange, set), nvml.ERROR_NOT_SUPPORTED)
	migOn(t, d)
	_, ci := instance(t, d, nvml.GPU_INSTANCE_PROFILE_1_SLICE)
	mig, _ := migDevice(t, ci)
	expect(t, "a MIG device", mig.RegisterEvents(nvml.EventTypeXidCriticalError, set), nvml.ERROR_INVALID_ARGUMENT)
}

// TestLostGPU: Xid 79 first, then every call on it answers GPU_IS_LOST, other
// GPUs work, and it comes back reset.
func TestLostGPU(t *testing.T) {
	m, lib := open(t, ThreeH200)
	d, other := deviceAt(t, lib, 0), deviceAt(t, lib, 1)
	migOn(t, d)
	_, ci := instance(t, d, nvml.GPU_INSTANCE_PROFILE_1_SLICE)
	mig, uuid := migDevice(t, ci)
	set := eventSet(t, lib, nvml.EventTypeXidCriticalError, d, other)
	m.Ctl("lose", "0")
	if e := next(t, set); e.EventData != 79 || e.Device != d {
		t.Errorf("got %+v, want Xid 79 on GPU 0", e)
	}
	_, r := set.Wait(long)
	expect(t, "Wait with a lost GPU", r, nvml.ERROR_GPU_IS_LOST)
	_, r = set.Wait(0)
	expect(t, "Wait once the loss was told", r, nvml.ERROR_TIMEOUT)
	for what, call := range map[string]func() nvml.Return{
		"GetUUID":         func() nvml.Return { _, r := d.GetUUID(); return r },
		"by index":        func() nvml.Return { _, r := lib.DeviceGetHandleByIndex(0); return r },
		"MIG by UUID":     func() nvml.Return { _, r := lib.DeviceGetHandleByUUID(uuid); return r },
		"MIG device name": func() nvml.Return { _, r := mig.GetName(); return r },
		"destroy":         ci.Destroy,
		"SetMigMode":      func() nvml.Return { _, r := d.SetMigMode(0); return r },
	} {
		expect(t, what, call(), nvml.ERROR_GPU_IS_LOST)
	}
	_, r = other.GetUUID()
	must(t, "another GPU", r)
	if n, _ := lib.DeviceGetCount(); n != 3 {
		t.Errorf("%d GPUs are counted, want 3", n)
	}
	if _, err := m.TryCtl("reset", "0"); err == nil {
		t.Error("a lost GPU was reset")
	}
	m.Ctl("recover", "0")
	_, r = d.GetUUID()
	must(t, "after recovery", r)
	if _, r := mig.GetUUID(); r != nvml.ERROR_INVALID_ARGUMENT {
		t.Errorf("a MIG device of before answers %v", name(r))
	}
}
