// SPDX-License-Identifier: Apache-2.0

package proc

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestRegistryStartsOnceAndStops(t *testing.T) {
	r := Registry{Dir: t.TempDir()}
	spec := Spec{Name: "sleeper", Args: []string{"sleep", "60"}, Log: filepath.Join(t.TempDir(), "log")}
	start := func() Identity {
		t.Helper()
		if err := r.Start(spec); err != nil {
			t.Fatal(err)
		}
		id, err := r.Running(spec.Name)
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	first := start()
	if again := start(); again != first {
		t.Errorf("a second start made another process: %v, then %v", first, again)
	}
	if err := r.Stop(spec.Name, 5*time.Second); err != nil || first.Alive() {
		t.Fatalf("stop: %v, alive: %v", err, first.Alive())
	}
	if _, err := r.Running(spec.Name); !errors.Is(err, ErrGone) {
		t.Errorf("after stop: %v, want ErrGone", err)
	}
	if err := r.Stop(spec.Name, time.Second); err != nil {
		t.Errorf("stop of what does not run: %v", err)
	}
}

func TestRegistryDoesNotTrustAnOldRecord(t *testing.T) {
	r := Registry{Dir: t.TempDir()}
	bystander := sleeper(t)
	if err := r.record("sleeper", Identity{PID: bystander.PID, Start: bystander.Start - 1}); err != nil {
		t.Fatal(err)
	}
	if err := r.Stop("sleeper", 0); err != nil {
		t.Fatal(err)
	}
	if !bystander.Alive() {
		t.Error("a process that merely has the recorded pid was killed")
	}
	if _, err := os.Stat(r.file("sleeper")); !errors.Is(err, os.ErrNotExist) {
		t.Error("the record of an ended process stays")
	}
}
