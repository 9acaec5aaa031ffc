// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"aipub.io/aipub/test/cluster/internal/layout"
)

func TestComponentNames(t *testing.T) {
	for short, want := range map[string]string{"kubelet": kubelet, "apiserver": apiserver, "kube-proxy": kubeProxy, "proxy": kubeProxy, "etcd": etcd} {
		if got, err := Component(short); err != nil || got != want {
			t.Errorf("%s: got %q, %v", short, got, err)
		}
	}
	if _, err := Component("docker"); err == nil || !strings.Contains(err.Error(), "containerd") {
		t.Errorf("an unknown name: %v, want the known ones", err)
	}
}

func TestEveryComponentHasAProgram(t *testing.T) {
	c := temporary(t)
	for _, name := range startOrder {
		spec := c.spec(name, Programs{Kubernetes: "/k", Containerd: "/c"}, Default())
		if len(spec.Args) == 0 || spec.Log == "" || spec.Name != name {
			t.Errorf("%s: %+v", name, spec)
		}
		if name != etcd && !slices.ContainsFunc(spec.Args, func(arg string) bool { return filepath.Base(arg) == name }) {
			t.Errorf("%s runs %v", name, spec.Args)
		}
	}
}

func TestSettingsSurviveTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "settings.json")
	if s, err := loadSettings(path); s != nil || err != nil {
		t.Errorf("no file: %v, %v", s, err)
	}
	want := Default()
	want.Labels = map[string]string{"a": "b"}
	if err := want.save(path); err != nil {
		t.Fatal(err)
	}
	got, err := loadSettings(path)
	if err != nil || !got.equal(want) {
		t.Errorf("got %+v, %v", got, err)
	}
	if got.equal(Default()) {
		t.Error("other labels count as equal settings")
	}
}

func TestAForeignWorkFolderIsNotTaken(t *testing.T) {
	c := temporary(t)
	if err := os.WriteFile(filepath.Join(c.Layout.Work, "thesis.tex"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if there, err := c.claimed(); there || err != nil {
		t.Errorf("claimed: %v, %v", there, err)
	}
	if err := c.checkFree(); err == nil {
		t.Error("a folder with other files would become the work folder")
	}
}

func TestAnotherClusterHasTheMachine(t *testing.T) {
	c := temporary(t)
	if err := os.WriteFile(c.Layout.Owner(), []byte("/elsewhere\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := c.claimed(); err == nil || !strings.Contains(err.Error(), "AIPUB_CLUSTER_DIR=/elsewhere") {
		t.Errorf("got %v", err)
	}
}

func TestClaim(t *testing.T) {
	c := temporary(t)
	if err := c.claim(Default()); err != nil {
		t.Fatal(err)
	}
	if there, err := c.claimed(); !there || err != nil {
		t.Errorf("claimed: %v, %v", there, err)
	}
}

func TestCertificatesOfAllComponents(t *testing.T) {
	c := temporary(t)
	if err := c.Layout.Make(); err != nil {
		t.Fatal(err)
	}
	if err := c.configure(Programs{Kubernetes: "/k", Containerd: "/c"}, Default()); err != nil {
		t.Fatal(err)
	}
	var flags []string
	for _, name := range startOrder {
		flags = append(flags, c.spec(name, Programs{}, Default()).Args...)
	}
	for _, flag := range flags { // every file of ours that a flag names is there
		_, path, found := strings.Cut(flag, "=")
		if !found || !strings.HasPrefix(path, c.Layout.Work) {
			continue
		}
		if _, err := os.Stat(path); err != nil {
			t.Errorf("%s: %v", flag, err)
		}
	}
	before, err := os.ReadFile(c.Layout.Kubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	if err := c.configure(Programs{Kubernetes: "/k2", Containerd: "/c2"}, Default()); err != nil {
		t.Fatal(err)
	}
	if after, err := os.ReadFile(c.Layout.Kubeconfig()); err != nil || string(after) != string(before) {
		t.Errorf("a second call replaced the certificates (%v)", err)
	}
}

func temporary(t *testing.T) Cluster {
	t.Helper()
	return Cluster{Layout: layout.Layout{Work: t.TempDir(), Run: t.TempDir(), Cache: t.TempDir()}}
}
