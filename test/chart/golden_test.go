// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func TestLint(t *testing.T) {
	out, stderr, err := helm(t, "lint", "--strict", chartDir)
	if err != nil {
		t.Errorf("helm lint: %v\n%s%s", err, out, stderr)
	}
}

// The CRDs are left out of the golden files: TestCRDs compares them with their
// source.
func TestGolden(t *testing.T) {
	for _, name := range []string{"default", "unprivileged", "everything"} {
		t.Run(name, func(t *testing.T) {
			got := template(t, "--set", "crds.install=false", "--values", filepath.Join("testdata", name+".values.yaml"))
			path := filepath.Join("testdata", name+".golden.yaml")
			if *update {
				if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
				t.Errorf("rendered manifests differ from %s (-want +got); if that is meant, run go test ./test/chart -run TestGolden -update\n%s", path, diff)
			}
		})
	}
}

func TestCRDsAreThoseGeneratedAndStayAtUninstall(t *testing.T) {
	objects := render(t)
	paths, err := filepath.Glob(filepath.Join(chartDir, "files/crds/*.yaml"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no generated CRDs in %s/files/crds (%v); run make generate", chartDir, err)
	}
	for _, path := range paths {
		source, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]any{}
		if err := yaml.Unmarshal(source, &want); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		name := want["metadata"].(map[string]any)["name"].(string)
		got := find(t, objects, "CustomResourceDefinition", name)
		if policy := got.GetAnnotations()["helm.sh/resource-policy"]; policy != "keep" {
			t.Errorf("%s: helm.sh/resource-policy is %q, want keep: uninstalling would delete every policy", name, policy)
		}
		spec := map[string]any{}
		mustRoundTrip(t, got.Object["spec"], &spec)
		if diff := cmp.Diff(want["spec"], any(spec)); diff != "" {
			t.Errorf("%s differs from its source (-want +got):\n%s", name, diff)
		}
	}
}

// mustRoundTrip makes numbers alike: YAML libraries disagree on int and float.
func mustRoundTrip(t *testing.T, from any, to *map[string]any) {
	t.Helper()
	raw, err := yaml.Marshal(from)
	if err == nil {
		err = yaml.Unmarshal(raw, to)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestCRDsCanBeLeftOut(t *testing.T) {
	for _, o := range render(t, "--set", "crds.install=false") {
		if o.GetKind() == "CustomResourceDefinition" {
			t.Errorf("%s is rendered although crds.install is false", o.GetName())
		}
	}
}
