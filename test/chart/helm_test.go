// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
)

const (
	chartDir  = "../../charts/aipub"
	namespace = "aipub-system"
)

// helm runs Helm and returns its output and error output.
func helm(t *testing.T, args ...string) (string, string, error) {
	t.Helper()
	path := os.Getenv("HELM")
	if path == "" {
		found, err := exec.LookPath("helm")
		if err != nil {
			t.Fatal("helm is neither in $HELM nor in $PATH; `make envtest-assets` builds it and `make unit` runs this test with it")
		}
		path = found
	}
	cmd := exec.Command(path, args...)
	// No settings, plugins or caches of whoever runs the test.
	home := t.TempDir()
	cmd.Env = append(os.Environ(), "HELM_CONFIG_HOME="+home, "HELM_CACHE_HOME="+home, "HELM_DATA_HOME="+home)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	return stdout.String(), stderr.String(), err
}

// template renders the chart with the given flags.
func template(t *testing.T, flags ...string) string {
	t.Helper()
	out, stderr, err := helm(t, append([]string{"template", "aipub", chartDir, "--namespace", namespace}, flags...)...)
	if err != nil {
		t.Fatalf("helm template %q: %v\n%s", flags, err, stderr)
	}
	return out
}

// render renders the chart and decodes every object.
func render(t *testing.T, flags ...string) []*unstructured.Unstructured {
	t.Helper()
	return decode(t, []byte(template(t, flags...)))
}

func decode(t *testing.T, manifests []byte) []*unstructured.Unstructured {
	t.Helper()
	decoder := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader(manifests), 4096)
	var objects []*unstructured.Unstructured
	for {
		object := map[string]any{}
		err := decoder.Decode(&object)
		if errors.Is(err, io.EOF) {
			return objects
		}
		if err != nil {
			t.Fatalf("decode manifests: %v", err)
		}
		if len(object) > 0 {
			objects = append(objects, &unstructured.Unstructured{Object: object})
		}
	}
}

// find returns the one object of a kind and name.
func find(t *testing.T, objects []*unstructured.Unstructured, kind, name string) *unstructured.Unstructured {
	t.Helper()
	for _, o := range objects {
		if o.GetKind() == kind && o.GetName() == name {
			return o
		}
	}
	t.Fatalf("no %s %s is rendered", kind, name)
	return nil
}

// into converts an object to its typed form, refusing fields it does not have.
func into[T any](t *testing.T, object *unstructured.Unstructured) *T {
	t.Helper()
	typed := new(T)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(object.Object, typed, true); err != nil {
		t.Fatalf("%s %s: %v", object.GetKind(), object.GetName(), err)
	}
	return typed
}
