//go:build e2e

// SPDX-License-Identifier: Apache-2.0

package uninstall

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// run runs one of the cluster's commands.
func run(t *testing.T, name string, args ...string) string {
	t.Helper()
	kubeconfig := os.Getenv("KUBECONFIG")
	if kubeconfig == "" {
		t.Fatal("KUBECONFIG is empty; run make e2e-uninstall")
	}
	bin := filepath.Join(filepath.Dir(filepath.Dir(kubeconfig)), "bin")
	out, err := exec.Command(filepath.Join(bin, name), args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

func setNames(t *testing.T) []string {
	t.Helper()
	var node corev1.Node
	if err := json.Unmarshal([]byte(run(t, "kubectl", "get", "node", "node-0", "-o", "json")), &node); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, list := range []corev1.ResourceList{node.Status.Capacity, node.Status.Allocatable} {
		for name := range list {
			if strings.HasPrefix(string(name), "aipub.io/") {
				names = append(names, string(name))
			}
		}
	}
	return names
}

func TestUninstallLeavesNoNameBehindAndNobodyStuck(t *testing.T) {
	run(t, "kubectl", "label", "node", "node-0", "aipub.io/pool=demo", "--overwrite")
	run(t, "kubectl", "apply", "-f", "../testdata/namespaces.yaml", "-f", "../testdata/policy.yaml")
	run(t, "kubectl", "wait", "nodepartition/node-0", "--for=condition=Ready", "--timeout=60s")
	run(t, "kubectl", "apply", "-f", "testdata/survivor.yaml")
	run(t, "kubectl", "-n", "e2e", "wait", "pod/survivor", "--for=condition=Ready", "--timeout=60s")
	const container = "jsonpath={.status.containerStatuses[0].containerID}"
	before := run(t, "kubectl", "-n", "e2e", "get", "pod", "survivor", "-o", container)
	if len(setNames(t)) == 0 {
		t.Fatal("the node has no set to begin with")
	}

	t.Log(run(t, "helm", "uninstall", "aipub", "-n", "aipub-system", "--timeout", "15m"))

	if names := setNames(t); len(names) > 0 {
		t.Errorf("the Node's status still has %v", names)
	}
	if after := run(t, "kubectl", "-n", "e2e", "get", "pod", "survivor", "-o", container); after != before {
		t.Errorf("the running container changed from %s to %s", before, after)
	}
	left := run(t, "kubectl", "get", "mutatingwebhookconfigurations,validatingwebhookconfigurations,clusterroles,clusterrolebindings,validatingadmissionpolicies", "-o", "name")
	left += run(t, "kubectl", "-n", "aipub-system", "get", "pods,jobs,deployments,daemonsets,serviceaccounts,secrets,roles,rolebindings,leases", "-o", "name")
	for _, line := range strings.Fields(left) {
		if strings.Contains(line, "aipub") {
			t.Errorf("left behind: %s", line)
		}
	}
	if policies := run(t, "kubectl", "get", "partitionpolicies", "-o", "name"); !strings.Contains(policies, "demo") {
		t.Error("the administrator's policy is gone")
	}

	// Nobody is stuck: the holder can be deleted, and other pods start.
	run(t, "kubectl", "-n", "e2e", "delete", "pod", "survivor", "--wait", "--timeout=60s")
	run(t, "kubectl", "-n", "e2e", "run", "plain", "--image=aipub.test/busybox:1", "--restart=Never", "--", "sleep", "60")
	run(t, "kubectl", "-n", "e2e", "wait", "pod/plain", "--for=condition=Ready", "--timeout=60s")
	run(t, "kubectl", "delete", "namespace", "e2e", "--wait", "--timeout=90s")
}
