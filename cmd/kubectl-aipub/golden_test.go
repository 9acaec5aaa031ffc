// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/yaml"
)

var update = flag.Bool("update", false, "write the golden files")

// kubectl runs `kubectl aipub` with the objects of a world as --offline input,
// and returns all that a terminal would show.
func (w *world) kubectl(t *testing.T, args ...string) string {
	t.Helper()
	raw, err := yaml.Marshal(map[string]any{"apiVersion": "v1", "kind": "List", "items": w.objects()})
	if err != nil {
		t.Fatal(err)
	}
	return terminal(t, raw, append(args, "--offline", "-")...)
}

// terminal is the screen after a command: what was typed, standard output and
// standard error, and the exit status if it is not 0.
func terminal(t *testing.T, in []byte, args ...string) string {
	t.Helper()
	var screen bytes.Buffer
	fmt.Fprintln(&screen, "$ kubectl aipub", strings.Join(args, " "))
	streams := genericiooptions.IOStreams{In: bytes.NewReader(in), Out: &screen, ErrOut: &screen}
	a := newApp(streams, "v0.1.0", func() time.Time { return clock })
	if code := a.run(context.Background(), args); code != 0 {
		fmt.Fprintf(&screen, "exit status %d\n", code)
	}
	return screen.String()
}

// golden compares with testdata/NAME.txt.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".txt")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v; make it with go test -update", err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("the screen differs from %s (-want +got), accept it with go test -update:\n%s", path, diff)
	}
}
