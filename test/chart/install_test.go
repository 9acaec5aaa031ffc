// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestOnARealServer installs the chart on a real API server. One server serves
// all, since it takes seconds to start.
func TestOnARealServer(t *testing.T) {
	s := startServer(t)
	s.install(t, "--set", "networkPolicy.enabled=true")
	t.Run("examples are valid", s.testExamples)
	t.Run("the policy of NOTES.txt is valid", s.testNotes)
	t.Run("a node agent is held to its node", s.testAgent)
	t.Run("an outage blocks set pods only", s.testOutage)
}

func (s *server) testExamples(t *testing.T) {
	paths, err := filepath.Glob("../../examples/*.yaml")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no examples in ../../examples (%v)", err)
	}
	for _, path := range paths {
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range decode(t, raw) {
			s.mustCreateStrictly(t, o)
		}
	}
}

// What people paste first must work.
func (s *server) testNotes(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join(chartDir, "templates/NOTES.txt"))
	if err != nil {
		t.Fatal(err)
	}
	const begin, end = "<<'YAML'\n", "\nYAML\n"
	blocks := strings.Split(string(raw), begin)[1:]
	if len(blocks) == 0 {
		t.Fatalf("NOTES.txt has nothing between %q and %q", begin, end)
	}
	for _, block := range blocks {
		text, _, found := strings.Cut(block, end)
		if !found {
			t.Fatalf("NOTES.txt: no %q after %q", end, block)
		}
		for _, o := range decode(t, []byte(text)) {
			s.mustCreateStrictly(t, o)
		}
	}
}

// testOutage has webhooks that nobody answers, as after the install and before
// the controller is ready.
func (s *server) testOutage(t *testing.T) {
	for _, o := range render(t) {
		if needsController(o) {
			s.mustCreateStrictly(t, o)
		}
	}
	pod := func(namespace, resourceName string) *corev1.Pod {
		one := corev1.ResourceList{corev1.ResourceName(resourceName): resource.MustParse("1")}
		return &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{GenerateName: "pod-", Namespace: namespace},
			Spec: corev1.PodSpec{Containers: []corev1.Container{{
				Name: "main", Image: "example.com/image", Resources: corev1.ResourceRequirements{Limits: one},
			}}},
		}
	}
	s.mustCreate(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "managed", Labels: map[string]string{"aipub.io/project": "p"}}})
	s.mustCreate(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "free"}})

	dry := func(ctx context.Context, p *corev1.Pod) error { return s.admin.Create(ctx, p, client.DryRunAll) }
	eventually(t, "a set pod in a managed namespace is refused", func(ctx context.Context) error {
		err := dry(ctx, pod("managed", "aipub.io/set-small"))
		if err == nil || !strings.Contains(err.Error(), "pods.sets.aipub.io") {
			return errAllowed
		}
		return nil
	})
	for name, p := range map[string]*corev1.Pod{
		"a pod without a set in a managed namespace": pod("managed", "cpu"),
		"a set pod in another namespace":             pod("free", "aipub.io/set-small"),
		"a pod of another device plugin":             pod("managed", "nvidia.com/gpu"),
	} {
		if err := dry(t.Context(), p); err != nil {
			t.Errorf("%s is blocked by our outage: %v", name, err)
		}
	}
}
