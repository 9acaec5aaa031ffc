// SPDX-License-Identifier: Apache-2.0

package quota_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	api "aipub.io/aipub/api/v1alpha1"
)

const service = "aipub-webhook"

// deployment runs replicas of the controller, each as a process with the chart's
// ServiceAccount.
type deployment struct {
	*server
	program string
	flags   []string
	made    int
	wired   bool // replicas reach the API server through a wire that can be held up
}

// deploy installs the chart and builds the controller.
func (s *server) deploy(b *testing.B) *deployment {
	b.Helper()
	d := &deployment{server: s, program: build(b, "aipub-controller")}
	s.create(b, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: api.SystemNamespace, Name: "aipub-webhook-cert"}})
	s.create(b, &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: api.SystemNamespace, Name: service},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "webhook", Port: 443}}},
	})
	d.flags = s.install(b)
	return d
}

// build makes one of the project's programs.
func build(b *testing.B, name string) string {
	b.Helper()
	path := filepath.Join(b.TempDir(), name)
	command := exec.Command("go", "build", "-o", path, "./cmd/"+name)
	command.Dir = root
	if out, err := command.CombinedOutput(); err != nil {
		b.Fatalf("build %s: %v\n%s", name, err, out)
	}
	return path
}

// replica is one process of the controller.
type replica struct {
	d       *deployment
	name    string
	wire    *wire
	process *exec.Cmd
	health  string
	metrics string
	slice   *discoveryv1.EndpointSlice
	ended   chan struct{}
	end     sync.Once
}

// replica starts one and waits until it is ready.
func (d *deployment) replica(b *testing.B) *replica {
	b.Helper()
	d.made++
	r := &replica{d: d, name: fmt.Sprintf("replica-%d", d.made), ended: make(chan struct{})}
	server := d.config.Host
	if d.wired {
		r.wire = newWire(b, server)
		server = "https://" + r.wire.address()
	}
	webhook := freePort(b)
	r.health, r.metrics = loopback(b), loopback(b)
	args := append([]string{
		"--kubeconfig", r.kubeconfig(b, server), "--webhook-port", strconv.Itoa(webhook),
		"--health-address", r.health, "--metrics-address", r.metrics,
	}, d.flags...)
	r.process = exec.Command(d.program, args...)
	log, err := os.Create(filepath.Join(logs(b), r.name+".log"))
	must(b, err)
	r.process.Stdout, r.process.Stderr = log, log
	must(b, r.process.Start())
	go func() {
		defer close(r.ended)
		_ = r.process.Wait() // it is killed; its log tells of other ends
		_ = log.Close()
	}()
	b.Cleanup(func() { r.kill(b) })
	began := time.Now()
	eventually(b, "readiness of "+r.name+" (its log: "+log.Name()+")", 5*time.Minute, r.ready)
	b.Logf("%s was ready after %s", r.name, time.Since(began).Round(time.Millisecond))
	r.publish(b, int32(webhook))
	return r
}

// logs is where the processes' logs are kept.
func logs(b *testing.B) string {
	if dir := os.Getenv("BENCH_OUT"); dir != "" {
		return dir
	}
	return b.TempDir()
}

// kubeconfig is that of the chart's ServiceAccount.
func (r *replica) kubeconfig(b *testing.B, server string) string {
	b.Helper()
	c := clientcmdapi.NewConfig()
	c.Clusters["c"] = &clientcmdapi.Cluster{
		Server: server, TLSServerName: "localhost", CertificateAuthorityData: r.d.config.CAData,
	}
	c.AuthInfos["u"] = &clientcmdapi.AuthInfo{
		ClientCertificateData: r.d.config.CertData, ClientKeyData: r.d.config.KeyData,
		Impersonate:       "system:serviceaccount:" + api.SystemNamespace + ":aipub-controller",
		ImpersonateGroups: []string{"system:serviceaccounts", "system:serviceaccounts:" + api.SystemNamespace, "system:authenticated"},
	}
	c.Contexts["x"] = &clientcmdapi.Context{Cluster: "c", AuthInfo: "u"}
	c.CurrentContext = "x"
	path := filepath.Join(b.TempDir(), "kubeconfig")
	must(b, clientcmd.WriteToFile(*c, path))
	return path
}

func (r *replica) ready() error {
	select {
	case <-r.ended:
		return fmt.Errorf("the process has ended")
	default:
	}
	response, err := http.Get("http://" + r.health + "/readyz")
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return errNotYet
	}
	return nil
}

// publish lets the API server call its webhooks.
func (r *replica) publish(b *testing.B, port int32) {
	b.Helper()
	ready, name := true, "webhook"
	r.slice = &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: api.SystemNamespace, Name: r.name, Labels: map[string]string{discoveryv1.LabelServiceName: service},
		},
		AddressType: discoveryv1.AddressTypeIPv4,
		Endpoints:   []discoveryv1.Endpoint{{Addresses: []string{outerAddress(b)}, Conditions: discoveryv1.EndpointConditions{Ready: &ready}}},
		Ports:       []discoveryv1.EndpointPort{{Name: &name, Port: &port}},
	}
	r.d.create(b, r.slice)
}

// kill ends the process as a crash does, without a word to anybody, and what a
// cluster would do of it: its endpoint goes.
func (r *replica) kill(b *testing.B) {
	b.Helper()
	r.end.Do(func() {
		if err := r.process.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
			b.Logf("kill %s: %v", r.name, err)
		}
		<-r.ended
		if r.slice != nil {
			_ = r.d.Delete(context.Background(), r.slice)
		}
	})
}

// metric sums a metric over its labels; 0 where it cannot be read.
func (r *replica) metric(name string) float64 {
	response, err := http.Get("http://" + r.metrics + "/metrics")
	if err != nil {
		return 0
	}
	defer response.Body.Close()
	sum, lines := 0.0, bufio.NewScanner(response.Body)
	for lines.Scan() {
		key, value, ok := strings.Cut(lines.Text(), " ")
		if base, _, _ := strings.Cut(key, "{"); !ok || base != name {
			continue
		}
		if v, err := strconv.ParseFloat(value, 64); err == nil {
			sum += v
		}
	}
	return sum
}

func freePort(b *testing.B) int {
	b.Helper()
	l, err := net.Listen("tcp", ":0")
	must(b, err)
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

func loopback(b *testing.B) string {
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(freePort(b)))
}

// outerAddress is an address of this machine that the API server accepts in an
// EndpointSlice, which loopback is not.
func outerAddress(b *testing.B) string {
	b.Helper()
	addresses, err := net.InterfaceAddrs()
	must(b, err)
	for _, a := range addresses {
		if ip, _, err := net.ParseCIDR(a.String()); err == nil && ip.To4() != nil && ip.IsGlobalUnicast() {
			return ip.String()
		}
	}
	b.Fatal("this machine has no IPv4 address but loopback; add one, for example: ip addr add 10.86.0.1/32 dev lo")
	return ""
}
