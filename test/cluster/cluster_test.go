// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"aipub.io/aipub/test/cluster/internal/cluster"
	"aipub.io/aipub/test/cluster/internal/layout"
	"aipub.io/aipub/test/cluster/internal/render"
	"aipub.io/aipub/test/cluster/internal/sweep"
)

const pod = `
apiVersion: v1
kind: Pod
metadata: {name: guaranteed}
spec:
  terminationGracePeriodSeconds: 0
  containers:
  - name: main
    image: aipub.test/busybox:1
    command: [sh, -c, "echo hello; exec sleep 1000000"]
    resources: {limits: {cpu: 12, memory: 100Gi}} # more than a small machine has
`

// TestCluster takes a cluster through its life. It takes down the one that is up.
func TestCluster(t *testing.T) {
	if os.Getenv("AIPUB_CLUSTER_TEST") == "" {
		t.Skip("it takes this machine's cluster down and up, as root; set AIPUB_CLUSTER_TEST=1 to run it")
	}
	c, err := newCluster()
	if err != nil {
		t.Fatal(err)
	}
	l := live{t, c}
	l.run("down")
	l.run("up")
	t.Cleanup(func() { l.run("down"); l.nothingLeft() })

	l.apply(pod)
	l.kubectl("wait", "--for=condition=Ready", "--timeout=60s", "pod/guaranteed")
	l.want("Guaranteed", "get", "pod", "guaranteed", "-o", "jsonpath={.status.qosClass}")
	l.want("32", "get", "node", "node-0", "-o", "jsonpath={.status.capacity.cpu}")
	l.want("256Gi", "get", "node", "node-0", "-o", "jsonpath={.status.capacity.memory}")
	l.want("hello", "logs", "guaranteed")
	l.want("works", "exec", "guaranteed", "--", "echo", "works")
	l.kubectl("exec", "guaranteed", "--", "nc", "-w", "5", render.APIService, "443", "-e", "true") // through kube-proxy's rules

	l.run("up") // changes nothing
	container := l.kubectl("get", "pod", "guaranteed", "-o", "jsonpath={.status.containerStatuses[0].containerID}")
	l.run("restart", "kubelet")
	l.run("restart", "containerd")
	l.run("kill", "kubelet")
	l.run("start", "kubelet")
	l.want("works", "exec", "guaranteed", "--", "echo", "works")
	l.want(container, "get", "pod", "guaranteed", "-o", "jsonpath={.status.containerStatuses[0].containerID}")

	boot := l.kubectl("get", "node", "node-0", "-o", "jsonpath={.status.nodeInfo.bootID}")
	mark := filepath.Join(t.TempDir(), "hook-ran")
	l.hook("10-mark", "#!/bin/sh\ntouch "+mark+"\n")
	l.run("reboot")
	if _, err := os.Stat(mark); err != nil {
		t.Error("the reboot hook did not run:", err)
	}
	if now := l.kubectl("get", "node", "node-0", "-o", "jsonpath={.status.nodeInfo.bootID}"); now == boot {
		t.Error("the boot id is the same after a reboot")
	}
	l.eventually("1", "get", "pod", "guaranteed", "-o", "jsonpath={.status.containerStatuses[0].restartCount}")
	l.kubectl("wait", "--for=condition=Ready", "--timeout=60s", "pod/guaranteed")
}

// live is a cluster under test.
type live struct {
	*testing.T
	c cluster.Cluster
}

func (l live) run(args ...string) {
	l.Helper()
	began := time.Now()
	if err := run(context.Background(), args); err != nil {
		l.Fatalf("%v: %v", args, err)
	}
	l.Logf("%v took %s", args, time.Since(began).Round(100*time.Millisecond))
}

func (l live) kubectl(args ...string) string {
	l.Helper()
	out, err := l.command(args...).CombinedOutput()
	if err != nil {
		l.Fatalf("kubectl %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func (l live) want(want string, args ...string) {
	l.Helper()
	if got := l.kubectl(args...); got != want {
		l.Errorf("kubectl %v: got %q, want %q", args, got, want)
	}
}

func (l live) eventually(want string, args ...string) {
	l.Helper()
	for deadline := time.Now().Add(time.Minute); l.kubectl(args...) != want; time.Sleep(500 * time.Millisecond) {
		if time.Now().After(deadline) {
			l.Fatalf("kubectl %v: got %q for a minute, want %q", args, l.kubectl(args...), want)
		}
	}
}

func (l live) apply(manifest string) {
	l.Helper()
	cmd := l.command("apply", "-f", "-")
	cmd.Stdin = strings.NewReader(manifest)
	if out, err := cmd.CombinedOutput(); err != nil {
		l.Fatalf("apply: %v\n%s", err, out)
	}
}

func (l live) command(args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(l.c.Layout.Bin(), "kubectl"), args...)
	cmd.Env = append(os.Environ(), l.c.Env()...)
	return cmd
}

func (l live) hook(name, script string) {
	l.Helper()
	if err := os.WriteFile(filepath.Join(l.c.Layout.RebootHooks(), name), []byte(script), 0o755); err != nil {
		l.Fatal(err)
	}
}

// nothingLeft checks that `down` left no mount, cgroup, process, bridge or file but the logs.
func (l live) nothingLeft() {
	l.Helper()
	for _, folder := range []string{l.c.Layout.Run, layout.KubeletDir} {
		if mounted, err := sweep.Mounted(folder); err != nil || mounted {
			l.Errorf("%s is still mounted (%v)", folder, err)
		}
	}
	if _, err := net.InterfaceByName(render.Bridge); err == nil {
		l.Errorf("the bridge %s is still there", render.Bridge)
	}
	if left, _ := filepath.Glob("/sys/fs/cgroup/*/" + sweep.Pods); len(left) > 0 {
		l.Errorf("cgroups are left: %v", left)
	}
	entries, err := os.ReadDir(l.c.Layout.Work)
	if err != nil || len(entries) != 1 || entries[0].Name() != "logs" {
		l.Errorf("the work folder holds %v (%v), want logs only", entries, err)
	}
}
