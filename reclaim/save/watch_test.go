// SPDX-License-Identifier: Apache-2.0

package save

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/go-logr/logr/testr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	api "aipub.io/aipub/api/v1alpha1"
)

func TestTheSnapshotsOfANodeAreCarriedOutOnARealAPIServer(t *testing.T) {
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		t.Fatal("KUBEBUILDER_ASSETS is not set: build a kube-apiserver with `make envtest-assets`, then set it to what `test/cluster/cluster.sh assets` prints (`make unit` does both)")
	}
	env := &envtest.Environment{CRDDirectoryPaths: []string{"../../charts/aipub/files/crds"}, ErrorIfCRDPathMissing: true}
	config, err := env.Start()
	if err != nil {
		t.Fatalf("start kube-apiserver: %v", err)
	}
	t.Cleanup(func() {
		if err := env.Stop(); err != nil {
			t.Errorf("stop kube-apiserver: %v", err)
		}
	})
	scheme := runtime.NewScheme()
	if err := api.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	if err := corev1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	create(t, c, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "lab"}})
	mine := snapshot(func(w *api.WorkspaceSnapshot) { w.UID = "" })
	others := snapshot(func(w *api.WorkspaceSnapshot) { w.UID, w.Name, w.Spec.Node = "", "w-other", "n2" })
	create(t, c, mine)
	create(t, c, others)

	n := &node{images: map[string]bool{}, fail: map[string]error{}, entered: map[string]func(string){}}
	s := New(c, Config{Node: "n1", Log: testr.New(t), Containers: n, Images: n})
	ctx, end := context.WithCancel(t.Context())
	defer end()
	ended := make(chan error, 1)
	go func() { ended <- Run(ctx, config, s) }()
	waitFor(t, c, mine, func(w *api.WorkspaceSnapshot) bool {
		return w != nil && w.Status.Phase == api.SnapshotSaved && w.Status.OnNode
	})
	if err := s.Sweep(t.Context()); err != nil {
		t.Errorf("Sweep: %v", err)
	}
	if len(s.orphans) != 0 {
		t.Errorf("what is needed is taken for left over: %v", s.orphans)
	}
	if err := c.Delete(t.Context(), mine); err != nil {
		t.Fatal(err)
	}
	waitFor(t, c, mine, func(w *api.WorkspaceSnapshot) bool { return w == nil })

	// The agent ends in the middle of another one.
	again := snapshot(func(w *api.WorkspaceSnapshot) { w.UID, w.Name = "", "w-2" })
	n.hang = true
	n.entered["commit"] = func(string) { end() }
	create(t, c, again)
	waitFor(t, c, again, func(w *api.WorkspaceSnapshot) bool {
		return w != nil && w.Status.Phase == api.SnapshotFailed && w.Status.Reason == api.ReasonInterrupted
	})
	if err := <-ended; err != nil {
		t.Errorf("Run: %v", err)
	}
	if w := read(t, c, others); w.Status.Phase != "" {
		t.Errorf("a snapshot of another node: %+v", w.Status)
	}
}

func create(t *testing.T, c client.Client, o client.Object) {
	t.Helper()
	if err := c.Create(t.Context(), o); err != nil {
		t.Fatal(err)
	}
}

// read is a snapshot as it is now; nil when there is none.
func read(t *testing.T, c client.Client, w *api.WorkspaceSnapshot) *api.WorkspaceSnapshot {
	t.Helper()
	now := &api.WorkspaceSnapshot{}
	err := c.Get(t.Context(), client.ObjectKeyFromObject(w), now)
	if client.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	}
	if err != nil {
		return nil
	}
	return now
}

func waitFor(t *testing.T, c client.Client, w *api.WorkspaceSnapshot, until func(*api.WorkspaceSnapshot) bool) {
	t.Helper()
	for limit := time.Now().Add(30 * time.Second); !until(read(t, c, w)); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatalf("snapshot %s did not come that far within 30 s: %+v", w.Name, read(t, c, w))
		}
	}
}
