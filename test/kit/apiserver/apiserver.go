// SPDX-License-Identifier: Apache-2.0

// Package apiserver starts a real kube-apiserver with the project's kinds for a test. No
// scheduler, kubelet, controller or webhook runs: tests play them, or start them.
package apiserver

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	kruntime "k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	api "aipub.io/aipub/api/v1alpha1"
)

// Scheme knows the kinds of Kubernetes and of the project.
func Scheme(t *testing.T) *kruntime.Scheme {
	t.Helper()
	scheme := kruntime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), api.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	return scheme
}

// Start starts a kube-apiserver with further kinds, which is stopped when the test ends.
// Clients made from the configuration are not slowed down.
func Start(t *testing.T, further ...*apiextensionsv1.CustomResourceDefinition) *rest.Config {
	t.Helper()
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		t.Fatal("KUBEBUILDER_ASSETS is not set: build a kube-apiserver with `make envtest-assets`, then set it to what `test/cluster/cluster.sh assets` prints (`make unit` does both)")
	}
	_, here, _, ok := runtime.Caller(0)
	if !ok {
		t.Fatal("find the repository: no caller")
	}
	env := &envtest.Environment{
		CRDDirectoryPaths: []string{filepath.Join(filepath.Dir(here), "../../../charts/aipub/files/crds")}, ErrorIfCRDPathMissing: true,
		CRDs: further,
	}
	config, err := env.Start()
	if err != nil {
		t.Fatalf("start kube-apiserver: %v", err)
	}
	t.Cleanup(func() {
		if err := env.Stop(); err != nil {
			t.Errorf("stop kube-apiserver: %v", err)
		}
	})
	config.QPS = -1
	return config
}
