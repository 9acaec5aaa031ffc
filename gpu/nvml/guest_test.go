// SPDX-License-Identifier: Apache-2.0

package nvml

import (
	"testing"
	"time"

	gonvml "github.com/NVIDIA/go-nvml/pkg/nvml"

	"aipub.io/aipub/test/gpusim"
)

func TestCloseWaitsForWhoSpeaksNVMLOnTheirOwn(t *testing.T) {
	m := gpusim.New(t, gpusim.ThreeH200)
	m.Activate()
	d, err := Open(Config{LibraryPath: m.LibraryPath(), Sysfs: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	raw := d.Raw()
	for range 2 { // one within the other
		if ret := raw.Init(); ret != gonvml.SUCCESS {
			t.Fatal(ret)
		}
	}
	closed := make(chan error, 1)
	go func() { closed <- d.Close() }()
	for begun := false; !begun; time.Sleep(time.Millisecond) {
		d.guest.mu.Lock()
		begun = d.guest.closed
		d.guest.mu.Unlock()
	}
	for range 2 {
		if n, ret := raw.DeviceGetCount(); ret != gonvml.SUCCESS || n != 3 {
			t.Errorf("%d GPUs, %v", n, ret)
		}
		select {
		case err := <-closed:
			t.Fatalf("it is closed while another speaks with it: %v", err)
		default:
		}
		if ret := raw.Shutdown(); ret != gonvml.SUCCESS {
			t.Error(ret)
		}
	}
	if err := <-closed; err != nil {
		t.Error(err)
	}
	if ret := raw.Init(); ret != gonvml.ERROR_UNINITIALIZED {
		t.Errorf("after Close: %v", ret)
	}
	if ret := raw.Shutdown(); ret != gonvml.ERROR_UNINITIALIZED {
		t.Errorf("a Shutdown without an Init: %v", ret)
	}
}
