// SPDX-License-Identifier: Apache-2.0

package quota_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/apimachinery/pkg/watch"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	api "aipub.io/aipub/api/v1alpha1"
)

const (
	root  = "../../.."
	chart = root + "/charts/aipub"
)

// server is a real kube-apiserver with the chart's kinds.
type server struct {
	client.WithWatch
	config *rest.Config
	scheme *runtime.Scheme
	assets string
}

func startServer(b *testing.B) *server {
	b.Helper()
	assets := os.Getenv("KUBEBUILDER_ASSETS")
	if assets == "" {
		b.Fatal("KUBEBUILDER_ASSETS is not set: make bench sets it to what test/cluster/cluster.sh assets prints")
	}
	env := &envtest.Environment{CRDDirectoryPaths: []string{chart + "/files/crds"}, ErrorIfCRDPathMissing: true}
	flags := env.ControlPlane.GetAPIServer().Configure()
	// Webhook Services resolve to their endpoints, since nothing routes cluster
	// addresses here.
	flags.Append("enable-aggregator-routing", "true")
	// Nobody would take the taint of new nodes off.
	flags.Append("disable-admission-plugins", "TaintNodesByCondition")
	config, err := env.Start()
	if err != nil {
		b.Fatalf("start kube-apiserver: %v", err)
	}
	b.Cleanup(func() {
		if err := env.Stop(); err != nil {
			b.Errorf("stop kube-apiserver: %v", err)
		}
	})
	config.QPS = -1
	s := &server{config: config, scheme: runtime.NewScheme(), assets: assets}
	must(b, errors.Join(clientgoscheme.AddToScheme(s.scheme), api.AddToScheme(s.scheme)))
	s.WithWatch, err = client.NewWithWatch(config, client.Options{Scheme: s.scheme})
	must(b, err)
	s.create(b, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: api.SystemNamespace}})
	return s
}

func must(b *testing.B, err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

func (s *server) create(b *testing.B, object client.Object) {
	b.Helper()
	if err := s.Create(context.Background(), object); err != nil {
		b.Fatalf("create %T %s: %v", object, object.GetName(), err)
	}
}

// as is a client of a tenant.
func (s *server) as(b *testing.B, user string) client.Client {
	b.Helper()
	config := rest.CopyConfig(s.config)
	config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: []string{"tenants", "system:authenticated"}}
	c, err := client.New(config, client.Options{Scheme: s.scheme})
	must(b, err)
	return c
}

// follow watches the pods of a namespace, or all, from now on.
func (s *server) follow(ctx context.Context, b *testing.B, where ...client.ListOption) watch.Interface {
	b.Helper()
	var now corev1.PodList
	must(b, s.List(ctx, &now, where...))
	from := &client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: now.ResourceVersion}}
	w, err := s.Watch(ctx, &corev1.PodList{}, append([]client.ListOption{from}, where...)...)
	must(b, err)
	return w
}

// letTenantsIn gives the tenants' group rights on pods.
func (s *server) letTenantsIn(b *testing.B) {
	b.Helper()
	s.create(b, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "tenant"}, Rules: []rbacv1.PolicyRule{{
		APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"get", "list", "create", "delete", "patch"},
	}}})
	s.create(b, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "tenant"},
		Subjects:   []rbacv1.Subject{{Kind: "Group", APIGroup: rbacv1.GroupName, Name: "tenants"}},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "tenant"},
	})
}

// install puts the chart's webhooks, policies and rights before the API server, and
// returns the flags about identity that it gives the controller.
func (s *server) install(b *testing.B) (flags []string) {
	b.Helper()
	var refused bytes.Buffer
	helm := exec.Command(filepath.Join(s.assets, "helm"), "template", "aipub", chart, "--namespace", api.SystemNamespace)
	helm.Stderr = &refused
	manifests, err := helm.Output()
	if err != nil {
		b.Fatalf("render the chart: %v\n%s", err, &refused)
	}
	decoder := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader(manifests), 4096)
	for {
		var object unstructured.Unstructured
		if err := decoder.Decode(&object.Object); errors.Is(err, io.EOF) {
			return flags
		} else if err != nil {
			b.Fatalf("read the chart: %v", err)
		}
		if object.GetKind() == "Deployment" {
			flags = identityFlags(b, &object)
		}
		if wanted(&object) {
			s.create(b, &object)
		}
	}
}

// wanted reports whether an object of the chart stands before the API server, or is
// a right of the controller's.
func wanted(o *unstructured.Unstructured) bool {
	before := strings.HasSuffix(o.GetKind(), "WebhookConfiguration") || strings.HasPrefix(o.GetKind(), "ValidatingAdmissionPolicy")
	rights := o.GroupVersionKind().Group == rbacv1.GroupName && o.GetName() == "aipub-controller"
	return rights || (before && !strings.HasPrefix(o.GetName(), "aipub-node"))
}

func identityFlags(b *testing.B, deployment *unstructured.Unstructured) (flags []string) {
	b.Helper()
	containers, _, err := unstructured.NestedSlice(deployment.Object, "spec", "template", "spec", "containers")
	must(b, err)
	for _, c := range containers {
		args, _, err := unstructured.NestedStringSlice(c.(map[string]any), "args")
		must(b, err)
		for _, arg := range args {
			if strings.HasPrefix(arg, "--trusted-controller=") || strings.HasPrefix(arg, "--stamped-kind=") {
				flags = append(flags, arg)
			}
		}
	}
	return flags
}

// eventually tries until there is no error.
func eventually(b *testing.B, what string, within time.Duration, try func() error) {
	b.Helper()
	deadline := time.Now().Add(within)
	for {
		err := try()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			b.Fatalf("%s: not within %s: %v", what, within, err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

var errNotYet = fmt.Errorf("not yet")
