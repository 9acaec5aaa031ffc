// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "aipub.io/aipub/api/v1alpha1"
)

const (
	partitionsPath = "/apis/aipub.io/v1alpha1/nodepartitions"
	nodesPath      = "/api/v1/nodes"
	policiesPath   = "/apis/aipub.io/v1alpha1/partitionpolicies"
	setsPath       = "/apis/aipub.io/v1alpha1/resourcesets"
)

// server answers lists as an API server does: with what is given for a path, an
// object or a status code.
func server(t *testing.T, answers map[string]any) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		answer, ok := answers[r.URL.Path]
		if !ok {
			answer = http.StatusNotFound
		}
		switch a := answer.(type) {
		case int:
			w.WriteHeader(a)
			status := metav1.Status{
				TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure,
				Code: int32(a), Reason: reasons[a], Message: http.StatusText(a),
			}
			_ = json.NewEncoder(w).Encode(status)
		case http.HandlerFunc:
			a(w, r)
		default:
			_ = json.NewEncoder(w).Encode(a)
		}
	}))
	t.Cleanup(s.Close)
	return s.URL
}

var reasons = map[int]metav1.StatusReason{
	http.StatusNotFound:     metav1.StatusReasonNotFound,
	http.StatusForbidden:    metav1.StatusReasonForbidden,
	http.StatusUnauthorized: metav1.StatusReasonUnauthorized,
}

// online runs a command against a server.
func online(t *testing.T, url string, args ...string) string {
	t.Helper()
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	return terminal(t, nil, append(args, "--server", url)...)
}

func TestWhatKeepsAUserFromReading(t *testing.T) {
	empty := map[string]any{"items": []any{}}
	partitions := api.NodePartitionList{Items: []api.NodePartition{{ObjectMeta: metav1.ObjectMeta{Name: "gpu-01"}}}}
	for name, tc := range map[string]struct {
		answers map[string]any
		args    string
		want    []string
		exit    bool
	}{
		"no CRDs": {
			answers: map[string]any{nodesPath: empty}, args: "nodes", exit: true,
			want: []string{"error: AIPub is not installed in this cluster: it has no nodepartitions.aipub.io; install the chart, or choose another cluster with --context\n"},
		},
		"no CRDs, sets": {args: "sets", exit: true, want: []string{"it has no resourcesets.aipub.io"}},
		"no permission": {
			answers: map[string]any{partitionsPath: http.StatusForbidden}, args: "nodes", exit: true,
			want: []string{"error: you are not allowed to list nodepartitions.aipub.io: ask an administrator for the verb list on it, or check with kubectl auth can-i list nodepartitions.aipub.io\n"},
		},
		"no login": {
			answers: map[string]any{setsPath: http.StatusUnauthorized}, args: "sets", exit: true,
			want: []string{"does not accept your credentials"},
		},
		"no permission on nodes shows what there is": {
			answers: map[string]any{partitionsPath: partitions, nodesPath: http.StatusForbidden, policiesPath: empty}, args: "nodes",
			want: []string{"note: some of what follows is incomplete: you are not allowed to list nodes", "gpu-01", "Unknown"},
		},
		"plan needs nodes": {
			answers: map[string]any{partitionsPath: partitions, nodesPath: http.StatusForbidden, policiesPath: empty}, args: "plan h200", exit: true,
			want: []string{"error: you are not allowed to list nodes"},
		},
		"empty cluster": {
			answers: map[string]any{partitionsPath: empty, nodesPath: empty, policiesPath: empty}, args: "nodes",
			want: []string{"note: no agent has reported on a node"},
		},
		"server error": {
			answers: map[string]any{setsPath: http.StatusTeapot}, args: "sets", exit: true,
			want: []string{"error: list resourcesets.aipub.io: "},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := online(t, server(t, tc.answers), strings.Fields(tc.args)...)
			for _, want := range tc.want {
				if !strings.Contains(got, want) {
					t.Errorf("want %q in:\n%s", want, got)
				}
			}
			if failed := strings.Contains(got, "exit status 1"); failed != tc.exit {
				t.Errorf("failed is %v, want %v:\n%s", failed, tc.exit, got)
			}
		})
	}
}

func TestNoServerAndNoConfiguration(t *testing.T) {
	if got := online(t, "http://127.0.0.1:1", "sets"); !strings.Contains(got, "error: cannot reach the API server at http://127.0.0.1:1: ") {
		t.Error(got)
	}
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	if got := terminal(t, nil, "sets", "--context", "elsewhere"); !strings.Contains(got, `context "elsewhere" does not exist; check --kubeconfig and --context`) {
		t.Error(got)
	}
	if got := terminal(t, nil, "sets", "--offline", "/nowhere.yaml"); !strings.Contains(got, "error: read --offline: open /nowhere.yaml: ") {
		t.Error(got)
	}
}

func TestAllPagesAreRead(t *testing.T) {
	var page http.HandlerFunc = func(w http.ResponseWriter, r *http.Request) {
		list := api.ResourceSetList{Items: []api.ResourceSet{{ObjectMeta: metav1.ObjectMeta{Name: "first"}}}}
		list.Continue = "more"
		if r.URL.Query().Get("continue") == "more" {
			list.Continue, list.Items[0].Name = "", "second"
		}
		_ = json.NewEncoder(w).Encode(list)
	}
	empty := map[string]any{"items": []any{}}
	url := server(t, map[string]any{setsPath: page, policiesPath: empty, partitionsPath: empty})
	got := online(t, url, "sets", "-o", "name")
	if want := "resourceset.aipub.io/first\nresourceset.aipub.io/second\n"; !strings.HasSuffix(got, want) {
		t.Errorf("got:\n%s", got)
	}
}

func TestNamesAreCompleted(t *testing.T) {
	w := busyWorld(t)
	path := filepath.Join(t.TempDir(), "cluster.yaml")
	w.dumpTo(t, path)
	for name, tc := range map[string]struct{ args, want string }{
		"nodes":          {"nodes --offline " + path + " gpu-0", "gpu-01\ngpu-02\n"},
		"not twice":      {"nodes --offline " + path + " gpu-01 gpu-0", "gpu-02\n"},
		"sets":           {"sets --offline " + path + " mig", "mig-mid\nmig-small\n"},
		"policies":       {"plan --offline " + path + " h", "h200\n"},
		"format":         {"sets -o wi", "wide\n"},
		"no file for it": {"sets --offline /nowhere.yaml s", ":4\n"},
	} {
		t.Run(name, func(t *testing.T) {
			got := terminal(t, nil, append([]string{"__complete"}, strings.Fields(tc.args)...)...)
			if !strings.Contains(got, "\n"+tc.want) {
				t.Errorf("got:\n%s", got)
			}
		})
	}
}

func TestCompletionScriptCallsThePlugin(t *testing.T) {
	script := filepath.Join(t.TempDir(), "kubectl_complete-aipub")
	_, text, _ := strings.Cut(terminal(t, nil, "completion"), "\n")
	if err := os.WriteFile(script, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if want := `exec kubectl aipub __complete "$@"`; !strings.Contains(text, want) || !strings.HasPrefix(text, "#!/bin/sh\n") {
		t.Error(text)
	}
}

func TestDumpsThatCannotBeRead(t *testing.T) {
	for name, tc := range map[string]struct{ in, want string }{
		"empty":     {"", "it holds no objects; make it with kubectl get"},
		"not yaml":  {"a: b: c", "parse document 1: "},
		"no kind":   {"items: []", "no kind or no apiVersion"},
		"bad field": {"apiVersion: aipub.io/v1alpha1\nkind: ResourceSet\nmetadata: {name: a}\nspec: {cpu: lots}", "read ResourceSet a: "},
	} {
		t.Run(name, func(t *testing.T) {
			got := terminal(t, []byte(tc.in), "sets", "--offline", "-")
			if !strings.Contains(got, tc.want) || !strings.Contains(got, "exit status 1") {
				t.Errorf("want %q in:\n%s", tc.want, got)
			}
		})
	}
}

func TestDumpsTakeAllFormsThatKubectlWrites(t *testing.T) {
	one := `{"apiVersion":"aipub.io/v1alpha1","kind":"ResourceSet","metadata":{"name":%q},"spec":{"resourceName":"aipub.io/set-a","cpu":"1","memory":"1Gi"}}`
	a, b := fmt.Sprintf(one, "a"), fmt.Sprintf(one, "b")
	for name, in := range map[string]string{
		"a list":      `{"apiVersion":"v1","kind":"List","items":[` + a + "," + b + "]}",
		"documents":   a + "\n---\n" + b,
		"typed list":  `{"apiVersion":"aipub.io/v1alpha1","kind":"ResourceSetList","items":[` + a + "," + b + "]}",
		"with others": a + "\n---\napiVersion: v1\nkind: Secret\nmetadata: {name: x}\n---\n" + b,
	} {
		t.Run(name, func(t *testing.T) {
			got := terminal(t, []byte(in), "sets", "-o", "name", "--offline", "-")
			if !strings.HasSuffix(got, "resourceset.aipub.io/a\nresourceset.aipub.io/b\n") {
				t.Errorf("got:\n%s", got)
			}
		})
	}
}
