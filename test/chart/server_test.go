// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/log"

	api "aipub.io/aipub/api/v1alpha1"
)

// server is a real API server with the chart's objects in it.
type server struct {
	config     *rest.Config
	kubeconfig []byte
	scheme     *runtime.Scheme
	admin      client.Client
}

// startServer starts an API server that ends with the test.
func startServer(t *testing.T) *server {
	t.Helper()
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		t.Skip("KUBEBUILDER_ASSETS is not set: no kube-apiserver to try the chart on; `make unit` builds one and sets it")
	}
	log.SetLogger(logr.Discard())
	env := &envtest.Environment{}
	config, err := env.Start()
	if err != nil {
		t.Fatalf("start API server: %v", err)
	}
	t.Cleanup(func() {
		if err := env.Stop(); err != nil {
			t.Errorf("stop API server: %v", err)
		}
	})
	s := &server{config: config, kubeconfig: env.KubeConfig, scheme: runtime.NewScheme()}
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, api.AddToScheme} {
		if err := add(s.scheme); err != nil {
			t.Fatal(err)
		}
	}
	s.admin = s.as(t, rest.ImpersonationConfig{})
	return s
}

// as returns a client that acts as somebody else.
func (s *server) as(t *testing.T, who rest.ImpersonationConfig) client.Client {
	t.Helper()
	config := rest.CopyConfig(s.config)
	config.Impersonate = who
	config.QPS = -1
	c, err := client.New(config, client.Options{Scheme: s.scheme})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// agent acts as the node agent with a token of the given node; "" is a token
// without one.
func (s *server) agent(t *testing.T, node string) client.Client {
	t.Helper()
	who := rest.ImpersonationConfig{
		UserName: "system:serviceaccount:" + namespace + ":aipub-node",
		Groups:   []string{"system:serviceaccounts", "system:authenticated"},
	}
	if node != "" {
		who.Extra = map[string][]string{"authentication.kubernetes.io/node-name": {node}}
	}
	return s.as(t, who)
}

// install creates every object of the chart but hooks and what needs the
// controller, and fails on a field that the API server does not know.
func (s *server) install(t *testing.T, flags ...string) {
	t.Helper()
	s.mustCreate(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})
	for _, o := range render(t, flags...) {
		if o.GetAnnotations()["helm.sh/hook"] == "" && !needsController(o) {
			s.mustCreateStrictly(t, o)
		}
	}
	for _, list := range []client.ObjectList{&api.PartitionPolicyList{}, &api.ResourceSetList{}, &api.NodePartitionList{}} {
		eventually(t, fmt.Sprintf("%T is served", list), func(ctx context.Context) error { return s.admin.List(ctx, list) })
	}
}

// needsController reports whether an object is a webhook configuration, or a policy
// that refuses what the webhooks have not stamped.
func needsController(o *unstructured.Unstructured) bool {
	policy := strings.HasPrefix(o.GetKind(), "ValidatingAdmissionPolicy") && !strings.HasPrefix(o.GetName(), "aipub-node-")
	return policy || strings.HasSuffix(o.GetKind(), "WebhookConfiguration")
}

func (s *server) mustCreateStrictly(t *testing.T, o *unstructured.Unstructured) {
	t.Helper()
	if err := s.admin.Create(t.Context(), o, client.FieldValidation("Strict")); err != nil {
		t.Fatalf("create %s %s: %v", o.GetKind(), o.GetName(), err)
	}
}

func (s *server) mustCreate(t *testing.T, object client.Object) {
	t.Helper()
	if err := s.admin.Create(t.Context(), object); err != nil {
		t.Fatalf("create %T %s: %v", object, object.GetName(), err)
	}
}

// node makes a Node with one set of ours, idle, and one resource of somebody else.
func (s *server) node(t *testing.T, name string) {
	t.Helper()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"aipub.io/pool": "gpu"}}}
	s.mustCreate(t, node)
	amounts := corev1.ResourceList{
		"aipub.io/set-small": resource.MustParse("0"), "aipub.io/set-medium": resource.MustParse("9"), "example.com/other": resource.MustParse("3"), "cpu": resource.MustParse("8"),
	}
	node.Status = corev1.NodeStatus{
		Capacity: amounts, Allocatable: amounts,
		Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady"}},
		Addresses:  []corev1.NodeAddress{{Type: corev1.NodeHostName, Address: name}},
	}
	if err := s.admin.Status().Update(t.Context(), node); err != nil {
		t.Fatalf("give node %s a status: %v", name, err)
	}
}
