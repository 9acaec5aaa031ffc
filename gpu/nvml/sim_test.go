// SPDX-License-Identifier: Apache-2.0

package nvml

import (
	"context"
	"testing"
	"time"

	"aipub.io/aipub/gpu"
	"aipub.io/aipub/test/gpusim"
)

// openSim opens a simulated machine for the length of the test.
func openSim(t *testing.T, description string) (*Driver, *gpusim.Machine) {
	t.Helper()
	m := gpusim.New(t, description)
	m.Activate()
	d, err := Open(Config{LibraryPath: m.LibraryPath(), Sysfs: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return d, m
}

// mustInventory reads a machine on which every GPU answers.
func mustInventory(t *testing.T, d *Driver) Inventory {
	t.Helper()
	inv, err := d.Inventory(testContext(t))
	if err != nil {
		t.Fatal(err)
	}
	if len(inv.Failed) > 0 {
		t.Fatalf("GPUs that failed: %+v", inv.Failed)
	}
	return inv
}

func testContext(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// findProfile finds a profile by its name in the driver.
func findProfile(t *testing.T, g gpu.GPU, name string) gpu.Profile {
	t.Helper()
	for _, p := range g.MIG.Profiles {
		if p.Name == name {
			return p
		}
	}
	t.Fatalf("%s has no profile %s", g.Model, name)
	return gpu.Profile{}
}
