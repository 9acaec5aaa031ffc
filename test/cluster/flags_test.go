// SPDX-License-Identifier: Apache-2.0

package main

import (
	"maps"
	"strings"
	"testing"
)

func TestNoFlagsMeansNoSettings(t *testing.T) {
	if settings, err := upFlags(nil); settings != nil || err != nil {
		t.Errorf("got %+v, %v", settings, err)
	}
}

func TestUpFlags(t *testing.T) {
	s, err := upFlags([]string{"--cpus", "64", "--memory", "1Ti", "--numa", "4", "--labels", "a=b,c=", "--topology", "restricted"})
	if err != nil {
		t.Fatal(err)
	}
	if s.Machine.CPUs != 64 || s.Machine.MemoryBytes != 1<<40 || s.Machine.NUMANodes != 4 || s.TopologyPolicy != "restricted" {
		t.Errorf("got %+v", s)
	}
	if want := map[string]string{"a": "b", "c": ""}; !maps.Equal(s.Labels, want) {
		t.Errorf("labels %v", s.Labels)
	}
}

func TestRealMachine(t *testing.T) {
	s, err := upFlags([]string{"--cpus", "0"})
	if err != nil || s.Machine.Simulated() {
		t.Errorf("got %+v, %v", s, err)
	}
}

func TestUpFlagsRefuse(t *testing.T) {
	for want, args := range map[string][]string{
		"cpus: 31":          {"--cpus", "31"},
		`"256G"`:            {"--memory", "256G"},
		`"lots"`:            {"--memory", "lots"},
		`topology: "loose"`: {"--topology", "loose"},
		`"a"`:               {"--labels", "a"},
		`node: "a b"`:       {"--node", "a b"},
		`not "extra"`:       {"extra"},
	} {
		if _, err := upFlags(args); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: got %v, want %s", args, err, want)
		}
	}
}

func TestQuote(t *testing.T) {
	for in, want := range map[string]string{"/a b": `'/a b'`, `it's`: `'it'\''s'`} {
		if got := quote(in); got != want {
			t.Errorf("quote(%q) = %s", in, got)
		}
	}
}
