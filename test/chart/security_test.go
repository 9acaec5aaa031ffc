// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const securityDoc = "../../docs/security.md"

// table returns the rows of the Markdown table whose header begins with the
// given cells.
func table(t *testing.T, header ...string) [][]string {
	t.Helper()
	raw, err := os.ReadFile(securityDoc)
	if err != nil {
		t.Fatal(err)
	}
	var rows [][]string
	inside := false
	for line := range strings.Lines(string(raw)) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "|") {
			inside = false
			continue
		}
		cells := strings.Split(strings.Trim(line, "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		switch {
		case inside && !strings.HasPrefix(cells[0], "---"):
			rows = append(rows, cells)
		case len(cells) >= len(header) && slices.Equal(cells[:len(header)], header):
			inside = true
		}
	}
	if len(rows) == 0 {
		t.Fatalf("%s has no table with the header %q", securityDoc, header)
	}
	return rows
}

// rights lists "account group resource verb" of every rule, as bound.
func rights(t *testing.T, objects []*unstructured.Unstructured) []string {
	t.Helper()
	var all []string
	for _, o := range objects {
		if o.GetKind() != "ClusterRoleBinding" && o.GetKind() != "RoleBinding" {
			continue
		}
		binding := into[rbacv1.ClusterRoleBinding](t, o)
		role := into[rbacv1.ClusterRole](t, find(t, objects, binding.RoleRef.Kind, binding.RoleRef.Name))
		for _, subject := range binding.Subjects {
			for _, rule := range role.Rules {
				all = append(all, expand(subject.Name, rule)...)
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func expand(account string, rule rbacv1.PolicyRule) []string {
	var all []string
	for _, group := range rule.APIGroups {
		if group == "" {
			group = "core"
		}
		for _, resource := range rule.Resources {
			for _, verb := range rule.Verbs {
				limit := strings.Join(rule.ResourceNames, " ")
				all = append(all, strings.TrimSpace(strings.Join([]string{account, group, resource, verb, limit}, " ")))
			}
		}
	}
	return all
}

func TestEveryRightIsDocumented(t *testing.T) {
	got := rights(t, render(t))
	var want []string
	for _, row := range table(t, "Account", "API group", "Resource", "Verbs", "Limited to", "Why") {
		if len(row) != 6 || row[5] == "" {
			t.Errorf("row %q: want six cells, the last one a reason", row)
			continue
		}
		rule := rbacv1.PolicyRule{APIGroups: []string{row[1]}, Resources: []string{row[2]}, Verbs: strings.Split(row[3], ", ")}
		if name, ok := strings.CutPrefix(row[4], "`"); ok {
			name, _, _ = strings.Cut(name, "`")
			rule.ResourceNames = []string{name}
		}
		want = append(want, expand(row[0], rule)...)
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("rights in %s (-) and in the chart (+) differ:\n%s", securityDoc, diff)
	}
}

func TestNoRuleHasAWildcard(t *testing.T) {
	for _, right := range rights(t, render(t)) {
		if strings.Contains(right, "*") {
			t.Errorf("%s: names no single right", right)
		}
	}
}

func TestEveryHostFolderIsDocumented(t *testing.T) {
	objects := render(t, "--set", "node.devRoot=/opt/devices")
	agent := into[appsv1.DaemonSet](t, find(t, objects, "DaemonSet", "aipub-node")).Spec.Template.Spec
	writable := map[string]bool{}
	for _, container := range append(agent.InitContainers, agent.Containers...) {
		for _, mount := range container.VolumeMounts {
			writable[mount.Name] = writable[mount.Name] || !mount.ReadOnly
		}
	}
	var got, want []string
	for _, volume := range agent.Volumes {
		if volume.HostPath == nil {
			continue
		}
		access := "read-only"
		if writable[volume.Name] {
			access = "read and write"
		}
		got = append(got, volume.Name+" "+access)
	}
	for _, row := range table(t, "Mount", "Host path (value)", "Access", "Why") {
		want = append(want, strings.Trim(row[0], "`")+" "+row[2])
	}
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("host folders in %s (-) and in the chart (+) differ:\n%s", securityDoc, diff)
	}
}

func TestTheAgentHasNoMoreOfTheHost(t *testing.T) {
	agent := into[appsv1.DaemonSet](t, find(t, render(t), "DaemonSet", "aipub-node")).Spec.Template.Spec
	if agent.HostNetwork || agent.HostIPC {
		t.Errorf("the agent shares the host's network (%t) or IPC (%t); docs/security.md says it does not", agent.HostNetwork, agent.HostIPC)
	}
	counting := into[appsv1.DaemonSet](t, find(t, render(t, "--set", "node.limiter.enabled=false"), "DaemonSet", "aipub-node")).Spec.Template.Spec
	if !agent.HostPID || counting.HostPID {
		t.Errorf("the agent sees the host's processes: %t, without the limiter: %t; docs/security.md says with the limiter alone", agent.HostPID, counting.HostPID)
	}
	for _, container := range append(agent.InitContainers, agent.Containers...) {
		for _, mount := range container.VolumeMounts {
			if mount.MountPropagation != nil && *mount.MountPropagation == "Bidirectional" {
				t.Errorf("mount %s propagates to the host; docs/security.md says that none does", mount.Name)
			}
		}
		if s := container.SecurityContext; s == nil || s.ReadOnlyRootFilesystem == nil || !*s.ReadOnlyRootFilesystem {
			t.Errorf("container %s has a writable root file system", container.Name)
		}
	}
}
