// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/gpu"
	"aipub.io/aipub/node/kube"
	"aipub.io/aipub/test/kit/fakekubelet"
)

// apiServer starts a real kube-apiserver with this project's kinds, and gives a
// kubeconfig file for it.
func apiServer(t *testing.T) (c client.Client, kubeconfig string) {
	t.Helper()
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		t.Skip("KUBEBUILDER_ASSETS is not set: no kube-apiserver to run the agent against; `make unit` builds one and sets it")
	}
	env := &envtest.Environment{CRDDirectoryPaths: []string{"../../charts/aipub/files/crds"}, ErrorIfCRDPathMissing: true}
	rc, err := env.Start()
	if err != nil {
		t.Fatalf("start kube-apiserver: %v", err)
	}
	t.Cleanup(func() {
		if err := env.Stop(); err != nil {
			t.Errorf("stop kube-apiserver: %v", err)
		}
	})
	if c, err = kube.NewClient(rc); err != nil {
		t.Fatal(err)
	}
	kubeconfig = filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(kubeconfig, env.KubeConfig, 0o600); err != nil {
		t.Fatal(err)
	}
	return c, kubeconfig
}

// objects are a node with a policy and its one set.
func objects(t *testing.T, c client.Client) *api.PartitionPolicy {
	t.Helper()
	node := &corev1.Node{}
	node.Name, node.Labels = "gpu-1", map[string]string{"pool": "test"}
	set := api.SetTemplate{Name: "cpu", CPU: new(resource.MustParse("2")), Memory: new(resource.MustParse("8Gi"))}
	policy := &api.PartitionPolicy{}
	policy.Name = "pool"
	policy.Spec.NodeSelector.MatchLabels = node.Labels
	policy.Spec.Sets = []api.SetTemplate{set}
	rs := &api.ResourceSet{}
	rs.Name = "cpu"
	rs.Spec = api.ResourceSetSpec{ResourceName: gpu.ResourceName("cpu"), CPU: *set.CPU, Memory: *set.Memory, Policies: []string{"pool"}}
	for _, o := range []client.Object{node, policy, rs} {
		if err := c.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	node.Status.Allocatable = corev1.ResourceList{"cpu": resource.MustParse("48"), "memory": resource.MustParse("384Gi")}
	node.Status.Capacity = node.Status.Allocatable
	if err := c.Status().Update(t.Context(), node); err != nil {
		t.Fatal(err)
	}
	return policy
}

// TestTheWholeProgramOnARealAPIServer runs everything but the command line, on a
// machine without GPUs.
func TestTheWholeProgramOnARealAPIServer(t *testing.T) {
	c, kubeconfig := apiServer(t)
	policy := objects(t, c)
	r := newRig(t, "")
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	o := r.options
	o.kubeconfig, o.nvmlLibrary = kubeconfig, filepath.Join(o.driverRoot, "missing.so")
	go func() { done <- serve(ctx, o, logr.Discard()) }()
	t.Cleanup(func() {
		cancel()
		select {
		case err := <-done:
			if err != nil {
				t.Errorf("serve: %v", err)
			}
		case <-time.After(patience):
			t.Error("the program does not end")
		}
	})
	until := func(what string, cond func() bool) {
		t.Helper()
		for end := time.Now().Add(patience); !cond(); time.Sleep(20 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("%s: not within %v", what, patience)
			}
		}
	}
	report := func() (p api.NodePartition) {
		_ = c.Get(t.Context(), client.ObjectKey{Name: "gpu-1"}, &p) // zero until it is there
		return p
	}
	reason := func(want string) {
		t.Helper()
		until("reason "+want, func() bool {
			ready := meta.FindStatusCondition(report().Status.Conditions, api.ConditionReady)
			return ready != nil && ready.Reason == want
		})
	}
	holder := func(want string) {
		t.Helper()
		until("holder "+want, func() bool {
			for _, s := range report().Status.Slices {
				if s.Holder != nil {
					return s.Holder.Pod == want
				}
			}
			return want == ""
		})
	}

	reason("Applied")
	until("24 allocatable", func() bool { return r.kubelet.Allocatable(gpu.ResourceName("cpu")) == 24 })

	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "p"}}
	pod.Spec.NodeName = "gpu-1"
	pod.Spec.Containers = []corev1.Container{{Name: "main", Image: "none", Resources: corev1.ResourceRequirements{
		Limits: corev1.ResourceList{"aipub.io/set-cpu": resource.MustParse("1")}}}}
	r.must(c.Create(t.Context(), pod))
	r.must(r.kubelet.Admit(t.Context(), fakekubelet.Pod{UID: string(pod.UID), Namespace: "default", Name: "p",
		Containers: []fakekubelet.Container{{Name: "main", Limits: map[string]int{gpu.ResourceName("cpu"): 1}}}}))
	holder("p")
	r.kubelet.Delete(string(pod.UID))
	r.must(c.Delete(t.Context(), pod, client.GracePeriodSeconds(0)))
	holder("")

	r.must(c.Delete(t.Context(), policy))
	reason("NoPolicy")
	until("an event", func() bool {
		var events corev1.EventList
		r.must(c.List(t.Context(), &events, client.InNamespace("default")))
		for _, e := range events.Items {
			if e.InvolvedObject.Name == "gpu-1" && e.Reason == "NoPolicy" && e.Source.Component == "aipub-node" {
				return true
			}
		}
		return false
	})
}
