// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/yaml"
)

// cluster is a real kube-apiserver with the CRDs, the webhook configurations and
// policies of the chart, and a controller that runs as in a pod:
// the API server reaches it through a Service and trusts it only by what it put
// into the configurations itself.
type cluster struct {
	client.Client
	config *rest.Config
	// chartFlags are further flags for Helm.
	chartFlags []string
	// warnings are those of the API server since the last call of take.
	warnings *warningLog
	// stop ends the controller and waits for it.
	stop func()
	// readyz is the address of the readiness check.
	readyz string
}

type warningLog struct{ bytes.Buffer }

func (w *warningLog) HandleWarningHeaderWithContext(_ context.Context, _ int, _ string, text string) {
	w.WriteString(text + "\n")
}

func (w *warningLog) take() string {
	defer w.Reset()
	return w.String()
}

func startCluster(t *testing.T, chartFlags ...string) *cluster {
	t.Helper()
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		t.Fatal("KUBEBUILDER_ASSETS is not set: build a kube-apiserver with `make envtest-assets`, then set it to what `test/cluster/cluster.sh assets` prints (`make unit` does both)")
	}
	env := &envtest.Environment{
		CRDDirectoryPaths:     []string{"../../charts/aipub/files/crds"},
		ErrorIfCRDPathMissing: true,
	}
	// Webhook Services resolve to their endpoints, since nothing routes cluster
	// addresses here.
	env.ControlPlane.GetAPIServer().Configure().Append("enable-aggregator-routing", "true")
	config, err := env.Start()
	if err != nil {
		t.Fatalf("start kube-apiserver: %v", err)
	}
	t.Cleanup(func() {
		if err := env.Stop(); err != nil {
			t.Errorf("stop kube-apiserver: %v", err)
		}
	})
	c := &cluster{config: config, chartFlags: chartFlags, warnings: &warningLog{}}
	own := rest.CopyConfig(config)
	own.WarningHandlerWithContext = c.warnings
	if c.Client, err = client.New(own, client.Options{Scheme: newScheme()}); err != nil {
		t.Fatal(err)
	}
	c.install(t)
	return c
}

// install does what the chart does, then runs the controller.
func (c *cluster) install(t *testing.T) {
	t.Helper()
	// The manager's metrics go there; each cluster has its own.
	ctrlmetrics.Registry = prometheus.NewRegistry()
	o := defaultOptions()
	o.webhookPort, o.metricsAddress = freePort(t), "0"
	c.readyz = net.JoinHostPort("127.0.0.1", strconv.Itoa(freePort(t)))
	o.healthAddress = c.readyz
	host, port := outerAddress(t), int32(o.webhookPort)

	c.mustCreate(t, namespace(o.namespace, nil))
	c.mustCreate(t, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: o.namespace, Name: o.certSecret}})
	c.mustCreate(t, &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: o.namespace, Name: o.webhookService},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "webhook", Port: 443}}},
	})
	ready, name := true, "webhook"
	c.mustCreate(t, &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{Namespace: o.namespace, Name: o.webhookService,
			Labels: map[string]string{discoveryv1.LabelServiceName: o.webhookService}},
		AddressType: discoveryv1.AddressTypeIPv4,
		Endpoints:   []discoveryv1.Endpoint{{Addresses: []string{host}, Conditions: discoveryv1.EndpointConditions{Ready: &ready}}},
		Ports:       []discoveryv1.EndpointPort{{Name: &name, Port: &port}},
	})
	for _, object := range chartObjects(t, o, c.chartFlags...) {
		c.mustCreate(t, object)
	}

	log, err := newLogger(o, testWriter{t})
	if err != nil {
		t.Fatal(err)
	}
	mgr, err := newManager(c.asController(), o, log)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- mgr.Start(ctx) }()
	stopped := false
	c.stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-done; err != nil {
			t.Errorf("run controller: %v", err)
		}
	}
	t.Cleanup(c.stop)
	eventually(t, "readiness", func() error { return c.checkReady() })
}

// asController connects as the chart's ServiceAccount, with its rights and no more.
func (c *cluster) asController() *rest.Config {
	config := rest.CopyConfig(c.config)
	config.Impersonate = rest.ImpersonationConfig{
		UserName: "system:serviceaccount:aipub-system:aipub-controller",
		Groups:   []string{"system:serviceaccounts", "system:serviceaccounts:aipub-system", "system:authenticated"},
	}
	return config
}

func (c *cluster) checkReady() error {
	response, err := http.Get("http://" + c.readyz + "/readyz?verbose")
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		var body bytes.Buffer
		_, _ = body.ReadFrom(response.Body)
		return errors.New(body.String())
	}
	return nil
}

// chartObjects are what the chart puts before and beside the API server: webhook
// configurations, policies but those of node agents, and the controller's rights.
// The flags that it gives the controller about identity go into the options.
func chartObjects(t *testing.T, o *options, flags ...string) []client.Object {
	t.Helper()
	args := append([]string{"template", "aipub", "../../charts/aipub", "--namespace", o.namespace}, flags...)
	helm := exec.Command(filepath.Join(os.Getenv("KUBEBUILDER_ASSETS"), "helm"), args...)
	var refused bytes.Buffer
	helm.Stderr = &refused
	manifests, err := helm.Output()
	if err != nil {
		t.Fatalf("render the chart: %v\n%s", err, &refused)
	}
	var objects []client.Object
	decoder := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader(manifests), 4096)
	for {
		var object unstructured.Unstructured
		err := decoder.Decode(&object.Object)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("read the chart: %v", err)
		}
		if object.GetKind() == "Deployment" {
			o.readIdentity(t, &object)
		}
		before := strings.HasSuffix(object.GetKind(), "WebhookConfiguration") || strings.HasPrefix(object.GetKind(), "ValidatingAdmissionPolicy")
		rights := object.GroupVersionKind().Group == "rbac.authorization.k8s.io" && object.GetName() == "aipub-controller"
		if rights || (before && !strings.HasPrefix(object.GetName(), "aipub-node")) {
			objects = append(objects, &object)
		}
	}
	if len(objects) < 8 {
		t.Fatalf("the chart has %d webhook configurations, policies and roles", len(objects))
	}
	return objects
}

// readIdentity takes the flags about identity from the controller's Deployment.
func (o *options) readIdentity(t *testing.T, deployment *unstructured.Unstructured) {
	t.Helper()
	var typed appsv1.Deployment
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(deployment.Object, &typed); err != nil {
		t.Fatal(err)
	}
	for _, arg := range typed.Spec.Template.Spec.Containers[0].Args {
		if name, is := strings.CutPrefix(arg, "--trusted-controller="); is {
			o.trustedControllers = append(o.trustedControllers, name)
		}
		if kind, is := strings.CutPrefix(arg, "--stamped-kind="); is {
			o.stampedKinds = append(o.stampedKinds, kind)
		}
	}
}

// deletePolicies does what `helm uninstall` does before the clean-up begins.
func (c *cluster) deletePolicies(t *testing.T) {
	t.Helper()
	for _, object := range chartObjects(t, defaultOptions()) {
		if strings.HasPrefix(object.GetObjectKind().GroupVersionKind().Kind, "ValidatingAdmissionPolicy") {
			if err := c.Delete(t.Context(), object); err != nil {
				t.Fatalf("delete %s: %v", object.GetName(), err)
			}
		}
	}
}

// outerAddress is an address of this machine that the API server accepts in an
// EndpointSlice, which loopback is not.
func outerAddress(t *testing.T) string {
	t.Helper()
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range addresses {
		if ip, _, err := net.ParseCIDR(a.String()); err == nil && ip.To4() != nil && ip.IsGlobalUnicast() {
			return ip.String()
		}
	}
	t.Fatal("this machine has no IPv4 address but loopback; add one, for example: ip addr add 10.86.0.1/32 dev lo")
	return ""
}

func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", ":0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

func (c *cluster) mustCreate(t *testing.T, object client.Object) {
	t.Helper()
	if err := c.Create(t.Context(), object); err != nil {
		t.Fatalf("create %T %s: %v", object, object.GetName(), err)
	}
}

func namespace(name string, labels map[string]string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
}

// eventually tries until there is no error, for at most a minute.
func eventually(t *testing.T, what string, try func() error) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for {
		err := try()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within a minute: %v", what, err)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// requireRefused checks that an error is a refusal that says all of parts.
func requireRefused(t *testing.T, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Error("accepted, want a refusal")
		return
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("the refusal lacks %q:\n%v", part, err)
		}
	}
}

// testWriter leads the controller's log into the test's.
type testWriter struct{ t *testing.T }

func (w testWriter) Write(p []byte) (int, error) {
	w.t.Logf("%s", bytes.TrimRight(p, "\n"))
	return len(p), nil
}

// convert reads YAML as an object.
func convert[T any](t *testing.T, text string) *T {
	t.Helper()
	var object map[string]any
	if err := yaml.Unmarshal([]byte(text), &object); err != nil {
		t.Fatalf("read YAML: %v\n%s", err, text)
	}
	var out T
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object, &out); err != nil {
		t.Fatalf("convert YAML: %v\n%s", err, text)
	}
	return &out
}
