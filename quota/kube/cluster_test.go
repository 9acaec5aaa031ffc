// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	api "aipub.io/aipub/api/v1alpha1"
)

// apiServer is a real kube-apiserver with our CRDs. No scheduler, kubelet or webhook
// runs: the tests play them.
type apiServer struct {
	client.WithWatch
	config *rest.Config
}

const system = "aipub-system"

func newScheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), api.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	return scheme
}

func startCluster(t *testing.T) *apiServer {
	t.Helper()
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		t.Fatal("KUBEBUILDER_ASSETS is not set: build a kube-apiserver with `make envtest-assets`, then set it to what `test/cluster/cluster.sh assets` prints (`make unit` does both)")
	}
	env := &envtest.Environment{
		CRDDirectoryPaths: []string{"../../charts/aipub/files/crds"}, ErrorIfCRDPathMissing: true,
		CRDs: []*apiextensionsv1.CustomResourceDefinition{labDefinition()},
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
	c := &apiServer{config: config}
	if c.WithWatch, err = client.NewWithWatch(config, client.Options{Scheme: newScheme(t)}); err != nil {
		t.Fatal(err)
	}
	c.mustCreate(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: system}})
	return c
}

func (c *apiServer) mustCreate(t *testing.T, object client.Object) {
	t.Helper()
	if err := c.Create(t.Context(), object); err != nil {
		t.Fatalf("create %T %s: %v", object, object.GetName(), err)
	}
}

// project makes a managed namespace of a project's name.
func (c *apiServer) project(t *testing.T, name string) {
	t.Helper()
	c.mustCreate(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{api.ProjectLabel: name}}})
}

// set makes a ResourceSet.
func (c *apiServer) set(t *testing.T, name string, units int64) {
	t.Helper()
	c.mustCreate(t, &api.ResourceSet{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: api.ResourceSetSpec{
			ResourceName: api.ResourcePrefix + name, CPU: resource.MustParse("1"), Memory: resource.MustParse("1Gi"),
			GPUUnits: units, Policies: []string{"p"},
		},
	})
}

// node makes a ready node with GPUs of four small sets or one large one each.
func (c *apiServer) node(t *testing.T, name string, gpus int) {
	t.Helper()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	c.mustCreate(t, node)
	node.Status.Allocatable = corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("640"), corev1.ResourceMemory: resource.MustParse("5120Gi"),
		api.ResourcePrefix + "small": *resource.NewQuantity(int64(4*gpus), resource.DecimalSI),
		api.ResourcePrefix + "large": *resource.NewQuantity(int64(gpus), resource.DecimalSI),
	}
	node.Status.Capacity = node.Status.Allocatable
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	if err := c.Status().Update(t.Context(), node); err != nil {
		t.Fatal(err)
	}
	// Nodes are made with a taint that a controller takes off once they are ready.
	node.Spec.Taints = nil
	if err := c.Update(t.Context(), node); err != nil {
		t.Fatal(err)
	}
	partition := &api.NodePartition{ObjectMeta: metav1.ObjectMeta{Name: name}}
	c.mustCreate(t, partition)
	partition.Status = api.NodePartitionStatus{AgentVersion: "test", Counters: map[string]int64{}}
	for i := range gpus {
		uuid, counter := fmt.Sprintf("GPU-%s-%d", name, i), fmt.Sprintf("gpu%d", i)
		partition.Status.Counters[counter] = 100
		partition.Status.GPUs = append(partition.Status.GPUs, api.NodeGPU{Index: int32(i), UUID: uuid, Model: "H200", Health: api.Health{OK: true}})
		add := func(set string, slot int, percent int32) {
			partition.Status.Slices = append(partition.Status.Slices, api.NodeSlice{
				ID: fmt.Sprintf("%s-%d-%d", set, i, slot), Set: set, GPUs: []string{uuid}, BlockPercent: percent, State: "Free",
				Uses: map[string]int64{counter: int64(percent)}, Since: metav1.Now(),
			})
		}
		add("large", 0, 100)
		for slot := range 4 {
			add("small", slot, 25)
		}
	}
	if err := c.Status().Update(t.Context(), partition); err != nil {
		t.Fatal(err)
	}
}

// quota makes a quota on small sets.
func (c *apiServer) quota(t *testing.T, name string, scope api.QuotaScope, small int32) {
	t.Helper()
	none := int32(0)
	c.mustCreate(t, &api.ResourceSetQuota{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: api.ResourceSetQuotaSpec{
			Scope: scope, SurgePods: &none,
			Limits: api.QuotaLimits{SetLimits: api.SetLimits{Sets: map[string]int32{"small": small}}},
		},
	})
}

// gatedPod is a pod as admission leaves it.
func gatedPod(project, user, name string) *corev1.Pod {
	one := corev1.ResourceList{api.ResourcePrefix + "small": resource.MustParse("1")}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: project, Name: name, Labels: map[string]string{api.SetLabel: "small"},
			Annotations: map[string]string{
				api.UserAnnotation: user, api.ProjectAnnotation: project, api.TypeAnnotation: string(api.TypeJob),
			},
		},
		Spec: corev1.PodSpec{
			SchedulingGates: []corev1.PodSchedulingGate{{Name: api.QuotaGate}},
			Containers: []corev1.Container{{
				Name: "main", Image: "none", Resources: corev1.ResourceRequirements{Limits: one, Requests: one},
			}},
		},
	}
}

// ownedBy gives a pod a controlling owner.
func ownedBy(pod *corev1.Pod, kind, name, uid string) *corev1.Pod {
	yes := true
	pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: kind, Name: name, UID: typeUID(uid), Controller: &yes}}
	pod.Annotations[api.WorkloadAnnotation] = "batch/" + kind + "/" + name + "/" + uid
	return pod
}

// replica is a watch and a leader on their own connection.
type replica struct {
	*Leader
	watch *Watch
	// done is closed once the leader has ended, with err.
	done chan struct{}
	err  error
	stop context.CancelFunc
	// rounds counts what the leader reported.
	rounds chan Round
}

// lead runs a replica that leads at once, as if it had been elected. wrap, if any,
// stands between the leader and the API server.
func (c *apiServer) lead(t *testing.T, holder string, wrap func(http.RoundTripper) http.RoundTripper) *replica {
	t.Helper()
	scheme := newScheme(t)
	watch, err := NewWatch(c.config, scheme, nil, labKind.GroupKind(), schema.GroupKind{Group: "example.com", Kind: "Absent"})
	if err != nil {
		t.Fatal(err)
	}
	config := rest.CopyConfig(c.config)
	if wrap != nil {
		config.Wrap(wrap)
	}
	direct, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	r := &replica{watch: watch, done: make(chan struct{}), stop: cancel, rounds: make(chan Round, 100000)}
	r.Leader = NewLeader(watch, Config{
		Namespace: system, Holder: holder, Client: direct,
		Observe: func(round Round) {
			select {
			case r.rounds <- round:
			default:
			}
		},
	})
	ctx = logr.NewContext(ctx, testLog(t, holder))
	watching := make(chan struct{})
	go func() {
		defer close(watching)
		if err := watch.Start(ctx); err != nil {
			t.Errorf("watch: %v", err)
		}
	}()
	go func() {
		defer close(r.done)
		r.err = r.Start(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-watching
		<-r.done
	})
	return r
}

// end stops a replica and waits until it has.
func (r *replica) end(t *testing.T) {
	t.Helper()
	r.stop()
	select {
	case <-r.done:
		if r.err != nil {
			t.Errorf("leader ended with %v", r.err)
		}
	case <-time.After(30 * time.Second):
		t.Fatal("the leader did not end within 30 s")
	}
}

func testLog(t *testing.T, name string) logr.Logger {
	t.Helper()
	if os.Getenv("AIPUB_TEST_LOG") == "" {
		return logr.Discard()
	}
	return newTestLogger(t).WithName(name)
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
		time.Sleep(20 * time.Millisecond)
	}
}
