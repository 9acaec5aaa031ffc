// SPDX-License-Identifier: Apache-2.0

package containerd

import (
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	api "aipub.io/aipub/api/v1alpha1"
)

// hub is a registry in this process.
type hub struct {
	http.Handler
	host string

	mu       sync.Mutex
	uploads  int // blobs that were sent
	password string
	broken   bool // takes the beginning of a blob, and no more
}

func newHub(t *testing.T) *hub {
	t.Helper()
	h := &hub{Handler: registry.New(registry.Logger(log.New(io.Discard, "", 0)))}
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	h.host = strings.TrimPrefix(server.URL, "http://")
	return h
}

func (h *hub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	if r.Method == http.MethodPatch {
		h.uploads++
	}
	password, broken := h.password, h.broken
	h.mu.Unlock()
	if _, given, _ := r.BasicAuth(); given != password {
		w.Header().Set("WWW-Authenticate", `Basic realm="test"`)
		http.Error(w, `{"errors":[{"code":"UNAUTHORIZED","message":"who are you"}]}`, http.StatusUnauthorized)
		return
	}
	if broken && r.Method == http.MethodPatch {
		io.CopyN(io.Discard, r.Body, 1000)
		http.Error(w, `{"errors":[{"code":"UNKNOWN","message":"no space"}]}`, http.StatusInsufficientStorage)
		return
	}
	h.Handler.ServeHTTP(w, r)
}

func (h *hub) sent() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	defer func() { h.uploads = 0 }()
	return h.uploads
}

func (h *hub) set(password string, broken bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.password, h.broken = password, broken
}

func (h *hub) registry(t *testing.T, c *Client, dockerConfig string) *Registry {
	t.Helper()
	r, err := NewRegistry(c, RegistryOptions{Repository: h.host + "/saved", Insecure: true, DockerConfig: dockerConfig})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func loginFile(t *testing.T, json string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config.json")
	if err := os.WriteFile(path, []byte(json), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestAnImageIsPushedWithoutWhatIsThereAndComesBackByDigest(t *testing.T) {
	d, c := running(t)
	p := run(t, d, c, busybox)
	h := newHub(t)
	r := h.registry(t, c, "")
	var refs []string
	for i, want := range []int{3, 2} { // base, layer, configuration; the base is there the second time
		snapshot := []string{"one", "two"}[i]
		p.sh("echo " + snapshot + " >/x")
		image := imageFor(t, snapshot)
		done := p.commit(image)
		ref, err := r.Push(t.Context(), image, "lab/main:"+snapshot)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(h.host+"/saved/lab/main@"+done.digest, ref); diff != "" {
			t.Errorf("reference (-want +got):\n%s", diff)
		}
		if sent := h.sent(); sent != want {
			t.Errorf("%d blobs were sent for %s, want %d", sent, snapshot, want)
		}
		refs = append(refs, ref)
	}
	pulled, err := remote.Image(digest(t, refs[1]))
	if err != nil {
		t.Fatal(err)
	}
	if layers, err := pulled.Layers(); err != nil || len(layers) != 2 {
		t.Errorf("pulled: %d layers, %v", len(layers), err)
	}
	for range 2 {
		if err := r.Delete(t.Context(), refs[0]); err != nil {
			t.Errorf("Delete: %v", err)
		}
	}
	if _, err := remote.Head(digest(t, refs[0])); err == nil {
		t.Error("it is still there")
	}
	if _, err := remote.Head(digest(t, refs[1])); err != nil {
		t.Errorf("the other one is gone: %v", err)
	}
}

func digest(t *testing.T, ref string) name.Digest {
	t.Helper()
	d, err := name.NewDigest(ref, name.Insecure)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestWhatARegistryDoesNotTakeIsSaidAndCanBeTriedAgain(t *testing.T) {
	d, c := running(t)
	p := run(t, d, c, busybox)
	p.sh("head -c 3000000 /dev/urandom >/x")
	image := imageFor(t, "one")
	p.commit(image)
	h := newHub(t)
	push := func(r *Registry) error {
		_, err := r.Push(t.Context(), image, "lab/main:one")
		return err
	}
	login := func(password string) string {
		return loginFile(t, `{"auths": {"https://`+h.host+`/saved": {"username": "u", "password": "`+password+`"}, "`+h.host+`": {"auth": "eDp5"}}}`)
	}
	h.set("secret", false)
	wantReason(t, push(h.registry(t, c, "")), api.ReasonRegistryFailed)
	wantReason(t, push(h.registry(t, c, login("wrong"))), api.ReasonRegistryFailed)
	wantReason(t, push(h.registry(t, c, "/no/such/file")), api.ReasonRegistryFailed)
	h.set("secret", true)
	wantReason(t, push(h.registry(t, c, login("secret"))), api.ReasonRegistryFailed)
	if _, err := remote.Head(tag(t, h.host+"/saved/lab/main:one"), remote.WithAuth(&authn.Basic{Username: "u", Password: "secret"})); err == nil {
		t.Error("half an image has a name")
	}
	h.set("secret", false)
	if err := push(h.registry(t, c, login("secret"))); err != nil {
		t.Errorf("push once it works again: %v", err)
	}
	down := h.registry(t, c, "")
	down.options.Repository = "127.0.0.1:1/saved"
	wantReason(t, push(down), api.ReasonRegistryFailed)
}

func tag(t *testing.T, ref string) name.Tag {
	t.Helper()
	tag, err := name.NewTag(ref, name.Insecure)
	if err != nil {
		t.Fatal(err)
	}
	return tag
}

func TestALayerThatContainerdDroppedIsNamedUnlessTheRegistryHasIt(t *testing.T) {
	d, c := running(t)
	p := run(t, d, c, busybox)
	p.sh("echo x >/x")
	image := imageFor(t, "one")
	manifest, _ := manifestOf(t, c, p.commit(image).digest)
	h := newHub(t)
	full := h.registry(t, c, "")
	if _, err := full.Push(t.Context(), image, "lab/other:one"); err != nil {
		t.Fatal(err)
	}
	base := manifest.Layers[0].Digest.String()
	dropLayer(t, c, base)
	if _, err := full.Push(t.Context(), image, "lab/other:two"); err != nil {
		t.Errorf("push where the registry has it: %v", err)
	}
	_, err := newHub(t).registry(t, c, "").Push(t.Context(), image, "lab/main:one")
	wantReason(t, err, api.ReasonRuntimeFailed)
	if err == nil || !strings.Contains(err.Error(), base) {
		t.Errorf("error %v does not name %s", err, base)
	}
}

func TestARepositoryThatCannotBeIsRefused(t *testing.T) {
	for _, repository := range []string{"", "Upper/case", "host.example/", "https://host.example/x"} {
		if _, err := NewRegistry(nil, RegistryOptions{Repository: repository}); err == nil || !strings.Contains(err.Error(), "HOST[:PORT]/PATH") {
			t.Errorf("NewRegistry(%q): %v; want to be told what to give", repository, err)
		}
	}
}

func TestTheLoginWithTheLongestPathCounts(t *testing.T) {
	file := loginFile(t, `{"auths": {
		"host.example": {"username": "host", "password": "x"},
		"https://host.example/saved/": {"username": "path", "password": "x"},
		"host.example/save": {"username": "other", "password": "x"},
		"`+authn.DefaultAuthKey+`": {"auth": "aHViOng="}}}`)
	for repository, want := range map[string]string{
		"host.example/saved/a": "path", "host.example/saved": "path", "host.example/b": "host", "lab/a": "hub",
	} {
		parsed, err := name.NewRepository(repository)
		if err != nil {
			t.Fatal(err)
		}
		who, err := login(file, parsed)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := who.Authorization(); err != nil || got.Username != want {
			t.Errorf("%s: user %v, %v; want %s", repository, got, err, want)
		}
	}
	nobody, err := name.NewRepository("else.example/a")
	if err != nil {
		t.Fatal(err)
	}
	_, err = login(file, nobody)
	wantReason(t, err, api.ReasonRegistryFailed)
}
