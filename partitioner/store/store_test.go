// SPDX-License-Identifier: Apache-2.0

package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	clocktesting "k8s.io/utils/clock/testing"

	"aipub.io/aipub/gpu"
)

var now = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)

// sample is a record in which every field says something.
func sample() Record {
	profile := gpu.Profile{Enum: 0, ID: 19, Name: "1g.18gb", ComputeSlices: 1, MemorySlices: 1,
		Multiprocessors: 16, MemoryBytes: 18 << 30, MaxCount: 7, Placements: []gpu.Placement{{Start: 0, Size: 1}, {Start: 1, Size: 1}}}
	target := &gpu.MIGTarget{Profile: profile, Placement: gpu.Placement{Start: 1, Size: 1}}
	return Record{
		BootID: "0b6d3f3a-1111-2222-3333-444455556666",
		Policy: Policy{Name: "h200", Generation: 7},
		Layout: gpu.Layout{
			Modes:  map[string]gpu.Mode{"GPU-a": gpu.ModeMIG, "GPU-b": gpu.ModeBlock},
			Totals: map[gpu.Counter]int64{"GPU-b/blocks": 100},
			Slices: []gpu.Slice{
				{ID: "0a-mig-1", Set: "mig", Kind: gpu.KindMIG, GPUs: []string{"GPU-a"}, MIG: target, CPUMilli: 4000, MemoryBytes: 1 << 33, NUMANodes: []int{0}},
				{ID: "0b-small-0", Set: "small", Kind: gpu.KindBlock, GPUs: []string{"GPU-b"},
					Block: &gpu.Block{Percent: 25, MemoryBytes: 35 << 30, Lend: true, Borrow: true},
					Uses:  []gpu.Use{{Counter: "GPU-b/blocks", Amount: 25}}},
				{ID: "cpu-0", Set: "cpu", Kind: gpu.KindCPU, CPUMilli: 250},
			},
		},
		Instances: map[gpu.SliceID]gpu.Instance{"0a-mig-1": {GPU: "GPU-a", ProfileID: 19,
			Placement: gpu.Placement{Start: 1, Size: 1}, GIID: 8, CIID: 0, UUID: "MIG-c"}},
		Held: []Held{
			{ // given away at half the size that the layout has now
				Slice: gpu.Slice{ID: "0b-small-0", Set: "small", Kind: gpu.KindBlock, GPUs: []string{"GPU-b"},
					Block: &gpu.Block{Percent: 12, MemoryBytes: 17 << 30}, Uses: []gpu.Use{{Counter: "GPU-b/blocks", Amount: 12}}},
				Holder: gpu.Holder{Namespace: "ml", Pod: "train", Container: "main", PodUID: "u"},
				Since:  now.Add(-time.Hour),
			},
			{Slice: gpu.Slice{ID: "cpu-0", Set: "cpu", Kind: gpu.KindCPU, CPUMilli: 250}, Since: now},
			{Slice: gpu.Slice{ID: "0a-old-0", Set: "old", Kind: gpu.KindWhole, GPUs: []string{"GPU-a"}}, Since: now},
		},
		Facts: Facts{
			DriverVersion: "580.95.05", CUDAVersion: "13.0",
			GPUs: []gpu.GPU{{Index: 0, Minor: 3, UUID: "GPU-a", Model: "NVIDIA H200", MemoryBytes: 141 << 30, NUMANode: gpu.NUMAUnknown,
				PCIBusID: "00000000:0A:00.0", MIG: &gpu.MIG{Enabled: true, Pending: true, LiveToggle: true, Profiles: []gpu.Profile{profile}}}},
			NUMA: []NUMANode{{ID: 1, CPUs: 64, MemoryBytes: 1 << 40}},
		},
	}
}

func openStore(t *testing.T, path string, fs Files) *Store {
	t.Helper()
	s, err := Open(Config{Path: path, Files: fs, Clock: clocktesting.NewFakePassiveClock(now)})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func mustSave(t *testing.T, s *Store, r Record) {
	t.Helper()
	if err := s.Save(r); err != nil {
		t.Fatal(err)
	}
}

func TestRoundTrip(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state", "partition.json")
	s := openStore(t, path, nil)
	if _, err := s.Load(); !errors.Is(err, os.ErrNotExist) {
		t.Fatalf("first start: %v", err)
	}
	want := sample()
	mustSave(t, s, want)
	want.SavedAt = now
	got, err := openStore(t, path, nil).Load()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("record (-saved +loaded):\n%s", diff)
	}
	if entries, _ := os.ReadDir(filepath.Dir(path)); len(entries) != 1 {
		t.Errorf("files: %v", entries)
	}
}

func TestSameRecordIsNotWrittenAgain(t *testing.T) {
	fs := newCrashing(6, false) // room for the six operations of one write
	s := openStore(t, filepath.Join(t.TempDir(), "p.json"), fs)
	mustSave(t, s, sample())
	mustSave(t, s, sample())
	changed := sample()
	changed.Policy.Generation++
	if err := s.Save(changed); err == nil {
		t.Error("the changed record was not written")
	}
}

func TestCrashLeavesOldOrNew(t *testing.T) {
	older, newer := sample(), sample()
	older.SavedAt, newer.SavedAt = now, now
	newer.Policy.Generation++
	newer.Held = append(newer.Held, Held{Slice: gpu.Slice{ID: "0a-mig-1", Set: "mig"}, Holder: gpu.Holder{Namespace: "ml", Pod: "second"}})
	crashes := 0
	for n := 0; ; n++ {
		done := false
		for _, lose := range []bool{false, true} {
			t.Run(fmt.Sprintf("operation %d, lose %v", n, lose), func(t *testing.T) {
				path := filepath.Join(t.TempDir(), "p.json")
				mustSave(t, openStore(t, path, nil), older)
				err := openStore(t, path, newCrashing(n, lose)).Save(newer)
				got, loadErr := openStore(t, path, nil).Load()
				if loadErr != nil {
					t.Fatal(loadErr)
				}
				isNew := cmp.Equal(newer, got)
				switch {
				case !isNew && !cmp.Equal(older, got):
					t.Errorf("neither old nor new:\n%s", cmp.Diff(newer, got))
				case err == nil && !isNew:
					t.Error("Save returned nil, but the record is lost")
				}
				if err == nil {
					done = true
				} else {
					crashes++
				}
				// The next start can save over whatever was left.
				mustSave(t, openStore(t, path, nil), newer)
			})
		}
		if done {
			break
		}
	}
	if crashes != 12 { // create, write, sync, close, rename, sync directory
		t.Errorf("%d crashes were tried", crashes)
	}
}

func TestFullDiskKeepsTheOldRecord(t *testing.T) {
	path := filepath.Join(t.TempDir(), "p.json")
	s := openStore(t, path, nil)
	mustSave(t, s, sample())
	s.config.Files = newCrashing(1, false)
	changed := sample()
	changed.BootID = "other"
	if err := s.Save(changed); !errors.Is(err, errCrash) || !strings.Contains(err.Error(), path+".tmp") {
		t.Errorf("error %v", err)
	}
	s.config.Files = Disk{}
	mustSave(t, s, changed) // the failure is not remembered as done
	got, err := s.Load()
	if err != nil || got.BootID != "other" {
		t.Errorf("record of boot %q, %v", got.BootID, err)
	}
}

func TestBadFilesAreKept(t *testing.T) {
	good, err := encode(sample())
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		content string
		is      error
		words   string
	}{
		"empty":           {content: "", is: ErrSyntax},
		"half":            {content: string(good[:len(good)/2]), is: ErrSyntax},
		"one number less": {content: strings.Replace(string(good), `"Percent":25`, `"Percent":24`, 1), is: ErrChecksum},
		"newer release":   {content: strings.Replace(string(good), `"version":1`, `"version":2`, 1), is: ErrVersion, words: "unknown version 2, this release reads 1"},
		"something else":  {content: `{"apiVersion":"v1"}`, is: ErrVersion},
		"no record":       {content: `{"version":1,"checksum":"sha256:00"}`, is: ErrSyntax},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "p.json")
			for round := range 2 { // twice within one second
				if err := os.WriteFile(path, []byte(tc.content), 0o600); err != nil {
					t.Fatal(err)
				}
				s := openStore(t, path, nil)
				_, err := s.Load()
				var bad *BadFileError
				if !errors.As(err, &bad) || !errors.Is(err, tc.is) || !strings.Contains(err.Error(), tc.words) {
					t.Fatalf("error %v", err)
				}
				want := path + ".corrupt-20260304T050607"
				if round == 1 {
					want += "-1"
				}
				if kept, err := os.ReadFile(bad.Kept); bad.Kept != want || err != nil || string(kept) != tc.content {
					t.Errorf("kept %q, want %q; %v", bad.Kept, want, err)
				}
				if _, err := s.Load(); !errors.Is(err, os.ErrNotExist) {
					t.Errorf("after moving it aside: %v", err)
				}
			}
		})
	}
}

func TestPrettyPrintedFileIsRead(t *testing.T) {
	data, err := encode(sample())
	if err != nil {
		t.Fatal(err)
	}
	data = []byte(strings.ReplaceAll(string(data), `,"`, ",\n  \""))
	path := filepath.Join(t.TempDir(), "p.json")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := openStore(t, path, nil).Load()
	if diff := cmp.Diff(sample(), got); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
}

func FuzzDecode(f *testing.F) {
	good, err := encode(sample())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add([]byte(`{"version":1,"record":null}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := decode(data)
		if err != nil {
			return
		}
		again, err := encode(r)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := decode(again); err != nil || !cmp.Equal(r, got) {
			t.Errorf("%v\n%s", err, cmp.Diff(r, got))
		}
	})
}
