// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	api "aipub.io/aipub/api/v1alpha1"
)

// labServer is the part of an API server that workspace commands need, with the objects
// of a lab: lists, reads, creates, merge patches, and dry runs of both.
type labServer struct {
	t       *testing.T
	url     string
	mu      sync.Mutex
	objects map[string]*unstructured.Unstructured // by path
	writes  []string                              // METHOD path?query body
	// refuse answers a write instead of the server; 0 lets it pass.
	refuse func(write string) (code int, message string)
	// logs answers requests for logs.
	logs http.HandlerFunc
	// meanwhile happens while a command waits, the number of the wait from 1.
	meanwhile func(wait int)
}

func serveLab(t *testing.T, l *lab) *labServer {
	t.Helper()
	s := &labServer{t: t, objects: map[string]*unstructured.Unstructured{}}
	for _, o := range l.items {
		raw, err := json.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		u := &unstructured.Unstructured{}
		if err := u.UnmarshalJSON(raw); err != nil {
			t.Fatal(err)
		}
		s.objects[pathOf(u)] = u
	}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	s.url = server.URL
	return s
}

func pathOf(u *unstructured.Unstructured) string {
	resource := map[string]string{"ReclaimPolicy": "reclaimpolicies", "Event": "events"}[u.GetKind()]
	for _, k := range boundKinds {
		if k.Kind == u.GetKind() {
			resource = k.resource
		}
	}
	path := "/apis/" + u.GetAPIVersion()
	if u.GetAPIVersion() == "v1" {
		path = "/api/v1"
	}
	if u.GetNamespace() != "" {
		path += "/namespaces/" + u.GetNamespace()
	}
	return path + "/" + resource + "/" + u.GetName()
}

func (s *labServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	var body bytes.Buffer
	_, _ = body.ReadFrom(r.Body)
	if r.Method != http.MethodGet {
		write := strings.TrimSpace(fmt.Sprintf("%s %s %s", r.Method, r.URL.Path, body.String()))
		s.writes = append(s.writes, write)
		if s.refuse != nil {
			if code, message := s.refuse(write); code != 0 {
				fail(w, code, message)
				return
			}
		}
	}
	dryRun := r.URL.Query().Get("dryRun") == "All"
	switch {
	case r.Method == http.MethodPost:
		s.post(w, body.Bytes(), dryRun)
	case r.Method == http.MethodPatch:
		s.patch(w, r.URL.Path, body.Bytes(), dryRun)
	case s.logs != nil && strings.HasSuffix(r.URL.Path, "/log"):
		s.logs(w, r)
	case s.objects[r.URL.Path] != nil:
		_ = json.NewEncoder(w).Encode(s.objects[r.URL.Path])
	default:
		s.list(w, r.URL.Path)
	}
}

func (s *labServer) list(w http.ResponseWriter, path string) {
	last := path[strings.LastIndex(path, "/")+1:]
	items := []any{}
	for _, key := range slices.Sorted(maps.Keys(s.objects)) {
		inOne, inAll := strings.HasPrefix(key, path+"/"), strings.HasPrefix(key, strings.TrimSuffix(path, "/"+last)+"/namespaces/") && strings.Contains(key, "/"+last+"/")
		if inOne || inAll {
			items = append(items, s.objects[key])
		}
	}
	if _, inNamespace, _ := strings.Cut(path, "/namespaces/"); strings.Count(inNamespace, "/") > 1 { // an object
		fail(w, http.StatusNotFound, path+" not found")
		return
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"apiVersion": "v1", "kind": "List", "items": items})
}

func (s *labServer) post(w http.ResponseWriter, body []byte, dryRun bool) {
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON(body); err != nil {
		s.t.Error(err)
	}
	u.SetResourceVersion("1")
	u.SetGeneration(1)
	if !dryRun {
		s.objects[pathOf(u)] = u
	}
	_ = json.NewEncoder(w).Encode(u)
}

func (s *labServer) patch(w http.ResponseWriter, path string, body []byte, dryRun bool) {
	u := s.objects[path]
	if u == nil {
		fail(w, http.StatusNotFound, path+" not found")
		return
	}
	var patch map[string]any
	if err := json.Unmarshal(body, &patch); err != nil {
		s.t.Error(err)
	}
	if version, found, _ := unstructured.NestedString(patch, "metadata", "resourceVersion"); found && version != u.GetResourceVersion() {
		fail(w, http.StatusConflict, "the object has been modified")
		return
	}
	u = u.DeepCopy()
	merge(u.Object, patch)
	u.SetResourceVersion(u.GetResourceVersion() + "1")
	if patch["spec"] != nil {
		u.SetGeneration(u.GetGeneration() + 1)
	}
	if !dryRun {
		s.objects[path] = u
	}
	_ = json.NewEncoder(w).Encode(u)
}

// merge is a JSON merge patch of objects.
func merge(into, patch map[string]any) {
	for key, value := range patch {
		inner, isMap := value.(map[string]any)
		old, wasMap := into[key].(map[string]any)
		switch {
		case value == nil:
			delete(into, key)
		case isMap && wasMap:
			merge(old, inner)
		default:
			into[key] = value
		}
	}
}

// get is an object by namespace, resource and name; it may be changed.
func (s *labServer) get(namespace, resource, name string) *unstructured.Unstructured {
	s.t.Helper()
	for path, u := range s.objects {
		if strings.HasSuffix(path, fmt.Sprintf("/namespaces/%s/%s/%s", namespace, resource, name)) {
			return u
		}
	}
	s.t.Fatalf("there is no %s %s/%s", resource, namespace, name)
	return nil
}

// become is what the controller does to a Workspace.
func (s *labServer) become(namespace, name string, change func(*api.Workspace)) {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.get(namespace, "workspaces", name)
	w := &api.Workspace{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, w); err != nil {
		s.t.Fatal(err)
	}
	w.Status.ObservedGeneration = w.Generation
	change(w)
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(w)
	if err != nil {
		s.t.Fatal(err)
	}
	u.Object = fields
}

// annotate is what the controller does to other kinds; "" takes an annotation away.
func (s *labServer) annotate(namespace, resource, name string, annotations map[string]string) {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.get(namespace, resource, name)
	notes := u.GetAnnotations()
	for key, value := range annotations {
		notes[key] = value
		if value == "" {
			delete(notes, key)
		}
	}
	u.SetAnnotations(notes)
}

// run is what a terminal shows of a command. A command that waits for longer than the
// test expects is interrupted.
func (s *labServer) run(args string) string { return s.runWords(strings.Fields(args)...) }

func (s *labServer) runWords(args ...string) string {
	s.t.Helper()
	s.t.Setenv("KUBECONFIG", filepath.Join(s.t.TempDir(), "none"))
	var screen bytes.Buffer
	fmt.Fprintln(&screen, "$ kubectl aipub", strings.Join(args, " "))
	a := newApp(genericiooptions.IOStreams{In: strings.NewReader(""), Out: &screen, ErrOut: &screen}, "v0.1.0", func() time.Time { return clock })
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	waits := 0
	a.wait = func(ctx context.Context, _ time.Duration) error {
		if waits++; s.meanwhile == nil || waits > 20 {
			stop()
		} else {
			s.meanwhile(waits)
		}
		return ctx.Err()
	}
	serverFlag := []string{"--server", s.url}
	i := slices.Index(args, "--")
	if i < 0 {
		i = len(args)
	}
	if code := a.run(ctx, slices.Insert(slices.Clone(args), i, serverFlag...)); code != 0 {
		fmt.Fprintf(&screen, "exit status %d\n", code)
	}
	return screen.String()
}

// wantWrites compares what was written.
func (s *labServer) wantWrites(want ...string) {
	s.t.Helper()
	if !slices.Equal(s.writes, want) {
		s.t.Errorf("written:\n%s\nwant:\n%s", strings.Join(s.writes, "\n"), strings.Join(want, "\n"))
	}
	s.writes = nil
}
