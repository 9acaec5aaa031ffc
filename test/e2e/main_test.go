//go:build e2e

// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "aipub.io/aipub/api/v1alpha1"
)

const (
	nodeName  = "node-0"
	project   = "e2e" // a managed namespace
	unmanaged = "e2e-unmanaged"
	image     = "aipub.test/busybox:1"
)

// cluster is what every test talks to.
type cluster struct {
	client.Client
	config *rest.Config
	core   kubernetes.Interface
}

var shared cluster

func TestMain(m *testing.M) {
	if err := connect(); err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// connect reaches the cluster, labels the node, and applies the policy that all
// tests start from.
func connect() error {
	path := os.Getenv("KUBECONFIG")
	if path == "" {
		return fmt.Errorf("KUBECONFIG is empty; run make e2e, or make node-up and set it to what that prints")
	}
	rc, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		return fmt.Errorf("read KUBECONFIG %s: %w", path, err)
	}
	rc.QPS, rc.Burst = 200, 400
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		return err
	}
	if err := api.AddToScheme(scheme); err != nil {
		return err
	}
	c, err := client.New(rc, client.Options{Scheme: scheme})
	if err != nil {
		return fmt.Errorf("create client: %w", err)
	}
	core, err := kubernetes.NewForConfig(rc)
	if err != nil {
		return fmt.Errorf("create client: %w", err)
	}
	shared = cluster{Client: c, config: rc, core: core}
	return prepare()
}

func prepare() error {
	for _, args := range [][]string{
		{"label", "node", nodeName, "aipub.io/pool=demo", "--overwrite"},
		{"apply", "-f", "testdata/namespaces.yaml"},
		{"apply", "-f", "testdata/policy.yaml"},
		{"-n", project, "delete", "pods,deployments,jobs", "--all", "--wait"},
	} {
		if out, err := kubectl(args...); err != nil {
			return fmt.Errorf("kubectl %v: %w: %s", args, err, out)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for {
		var np api.NodePartition
		err := shared.Get(ctx, client.ObjectKey{Name: nodeName}, &np)
		if err == nil && ready(np) {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("divide the node: not within a minute: %w, conditions %+v", errors.Join(ctx.Err(), err), np.Status.Conditions)
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// ready reports whether the policy of the tests has taken effect.
func ready(np api.NodePartition) bool {
	for _, c := range np.Status.Conditions {
		if c.Type == api.ConditionReady {
			return c.Reason == api.ReasonApplied && np.Status.Policy == "demo" && len(np.Status.Sets) == 6
		}
	}
	return false
}
