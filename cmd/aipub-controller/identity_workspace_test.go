// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"aipub.io/aipub/api/v1alpha1"
)

// TestQuotaValues has quotas that say nothing that could be held to.
func TestQuotaValues(t *testing.T) {
	c := startCluster(t)
	for limits, parts := range map[string][]string{
		`{sets: {aipub.io/set-small: 1}}`: {"spec.limits.sets", "small for aipub.io/set-small"},
		`{sets: {small: -1}}`:             {"spec.limits.sets", "counts from 0"},
		`{gpu: "0.00001"}`:                {"spec.limits.gpu", "multiple"},
		`{gpu: "0.143"}`:                  {"spec.limits.gpu", "0.43 for three sevenths"},
		`{gpu: "1.0000001"}`:              {"spec.limits.gpu", "multiple"},
		`{gpu: -1}`:                       {"spec.limits.gpu", "0 or more"},
		`{gpu: 1G}`:                       {"spec.limits.gpu", "at most 1000000"},
		`{byType: {Job: {sets: {aipub.io/set-cpu: 1}}}}`: {"spec.limits.byType[Job].sets"},
		`{byType: {Job: {gpu: 3m}}}`:                     {"spec.limits.byType[Job].gpu"},
		`{sets: {small: 0, large: 3}}`:                   nil,
		`{gpu: 0}`:                                       nil,
		`{gpu: 4}`:                                       nil,
		`{gpu: "0.5"}`:                                   nil,
		`{gpu: "0.0025"}`:                                nil,
		`{gpu: "123456.4325"}`:                           nil,
		`{gpu: 1M, byType: {Workspace: {gpu: "0.43"}}}`:  nil,
	} {
		t.Run(limits, func(t *testing.T) {
			quota := convert[v1alpha1.ResourceSetQuota](t, "metadata: {generateName: q-}\nspec: {scope: {project: vision}, limits: "+limits+"}")
			err := c.Create(t.Context(), quota)
			if len(parts) > 0 {
				requireRefused(t, err, parts...)
			} else if err != nil {
				t.Error(err)
			}
		})
	}
	misspelt := convert[v1alpha1.ResourceSetQuota](t, "metadata: {name: misspelt}\nspec: {scope: {project: vision}, limits: {sets: {smal: 1}}}")
	c.mustCreate(t, misspelt)
	eventually(t, "the quota says that it knows no such set", func() error {
		c.reread(t, misspelt)
		for _, condition := range misspelt.Status.Conditions {
			if condition.Type == v1alpha1.ConditionReady && condition.Reason == v1alpha1.ReasonUnknownSet {
				return nil
			}
		}
		return fmt.Errorf("conditions %v", misspelt.Status.Conditions)
	})
}

// largeWorkspace holds one large set.
func largeWorkspace(name string) *v1alpha1.Workspace {
	return &v1alpha1.Workspace{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: name}, Spec: v1alpha1.WorkspaceSpec{Set: "large", Image: "example.com/lab"}}
}

// TestWorkspaceIdentity has people make Workspaces, and say how long and from when
// they hold their sets, on one kube-apiserver with the chart's webhooks and policies.
// The parts build on each other, in order.
func TestWorkspaceIdentity(t *testing.T) {
	c := startCluster(t)
	c.letTenantsIn(t)
	c.grant(t, "workspaces", rbacv1.PolicyRule{APIGroups: []string{"aipub.io"}, Resources: []string{"workspaces", "workspaces/status"},
		Verbs: []string{"get", "create", "update", "patch", "delete"}}, group("tenants"))
	c.grant(t, "extender", rbacv1.PolicyRule{APIGroups: []string{"aipub.io"}, Resources: []string{"workspaces"}, Verbs: []string{"extend"}}, user("lead"))
	c.mustCreate(t, namespace("team", map[string]string{v1alpha1.ProjectLabel: "vision"}))
	c.mustCreate(t, namespace("plain", nil))
	c.mustCreate(t, convert[v1alpha1.PartitionPolicy](t, h200Policy))
	c.addNode(t, "n1", "h200", 2)
	c.expectSets(t, "cpu: 2 8Gi 0/0/0", "large: 28 240Gi 0/0/0")
	c.awaitPolicies(t)
	for _, part := range []struct {
		name string
		run  func(*testing.T, *cluster)
	}{
		{"it is its author's", testWorkspaceStamps},
		{"its pods are its author's", testWorkspaceOwns},
		{"over quota it is refused, and a resume waits", testWorkspaceJudged},
		{"a template that grows is judged", testTemplateJudged},
		{"a resume of another kind waits, too", testResumeOfADeployment},
		{"time is added within limits", testExtensions},
		{"the controller's notes are its own", testControllersNotes},
		{"nonsense is refused", testNonsense},
	} {
		if !t.Run(part.name, func(t *testing.T) { part.run(t, c) }) {
			return
		}
	}
}

const ourController = "system:serviceaccount:aipub-system:aipub-controller"

func testWorkspaceStamps(t *testing.T, c *cluster) {
	lab := largeWorkspace("lab")
	c.create(t, "alice", lab)
	requireNotes(t, lab, charged("alice"))
	requireNotes(t, lab, map[string]string{v1alpha1.TypeAnnotation: "Workspace"})
	c.refuse(t, "bob", note(largeWorkspace("x"), v1alpha1.UserAnnotation, "alice"), `"alice"`, "from bob")
	c.refuse(t, "alice", note(largeWorkspace("x"), v1alpha1.TypeAnnotation, "Job"), `"Job" is not what a Workspace is`)
	for patch, parts := range stampChanges {
		if !strings.Contains(patch, `"aipub.io/type":"Workspace"`) { // which it is
			requireRefused(t, c.merge(t, "alice", lab, patch), parts...)
		}
	}
	bare := largeWorkspace("lab")
	bare.ResourceVersion = lab.ResourceVersion
	c.reread(t, lab)
	bare.ResourceVersion = lab.ResourceVersion
	if err := c.as(t, "bob").Update(t.Context(), bare); err != nil {
		t.Fatal(err)
	}
	requireNotes(t, bare, charged("alice"))
	unknown := largeWorkspace("x")
	unknown.Spec.Set = "larg"
	c.refuse(t, "alice", unknown, `spec.set: "larg" is no set`, "closest first: large")
	many := largeWorkspace("x")
	many.Spec.Count = 1001
	c.refuse(t, "alice", many, "spec.count", "1000")
}

// What our controller makes for a Workspace is charged to its author by the uid.
func testWorkspaceOwns(t *testing.T, c *cluster) {
	lab := largeWorkspace("lab")
	c.reread(t, lab)
	set := func(name string, owner client.Object) *appsv1.StatefulSet {
		return ownedBy(&appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: name}, Spec: appsv1.StatefulSetSpec{Selector: selector, Template: template()}},
			"aipub.io/v1alpha1", "Workspace", owner)
	}
	runner := set("lab-x", lab)
	c.create(t, ourController, runner)
	requireNotes(t, runner, charged("alice"))
	requireNotes(t, runner, map[string]string{v1alpha1.TypeAnnotation: "Workspace"})
	pod := ownedBy(setPod("team", "lab-x-0", "large=1"), "apps/v1", "StatefulSet", runner)
	c.create(t, kubeSystem+"statefulset-controller", pod)
	requireNotes(t, pod, charged("alice"))
	requireNotes(t, pod, map[string]string{v1alpha1.TypeAnnotation: "Workspace", v1alpha1.WorkloadAnnotation: fmt.Sprintf("aipub.io/Workspace/lab/%s", lab.UID)})
	home := ownedBy(volumeClaim("home-x"), "aipub.io/v1alpha1", "Workspace", lab)
	c.create(t, ourController, home)
	requireNotes(t, home, charged("alice"))

	forged := lab.DeepCopy()
	forged.UID = "00000000-0000-0000-0000-000000000000"
	c.refuse(t, ourController, set("x", forged), "workspace/lab", "has uid "+string(lab.UID))
	mine := set("bobs", lab)
	c.create(t, "bob", mine)
	requireNotes(t, mine, charged("bob"))
	for _, object := range []client.Object{pod, home, runner, mine} {
		if err := c.Delete(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
}

func testWorkspaceJudged(t *testing.T, c *cluster) {
	quota := convert[v1alpha1.ResourceSetQuota](t, "metadata: {name: alice}\nspec: {scope: {user: alice}, limits: {sets: {large: 1}}}")
	c.mustCreate(t, quota)
	two := func(name string) *v1alpha1.Workspace {
		w := largeWorkspace(name)
		w.Spec.Count = 2
		return w
	}
	eventually(t, "the quota is known", func() error {
		if err := c.as(t, "alice").Create(t.Context(), two("x"), client.DryRunAll); err == nil {
			return errors.New("accepted")
		}
		return nil
	})
	c.refuse(t, "alice", two("x"), "spec.set: ", "alice may have at most 1 set large", "2 are asked for")
	lab := largeWorkspace("lab")
	requireRefused(t, c.merge(t, "bob", lab, `{"spec":{"count":2}}`), "alice may have at most 1 set large")
	later := two("later")
	later.Spec.Paused = true
	c.create(t, "alice", later)
	if err := c.merge(t, "alice", later, `{"spec":{"paused":false}}`); err != nil {
		t.Errorf("a resume is refused: %v", err)
	}
	if err := c.merge(t, "alice", lab, `{"spec":{"paused":true,"count":2}}`); err != nil {
		t.Errorf("what is paused may become larger: %v", err)
	}
	for _, object := range []client.Object{later, quota} {
		if err := c.Delete(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
}

func testTemplateJudged(t *testing.T, c *cluster) {
	notebook := note(deployment("notebook"), v1alpha1.TypeAnnotation, "Workspace")
	notebook.Spec.Template.Spec = setPod("", "", "").Spec
	c.create(t, "alice", notebook)
	quota := convert[v1alpha1.ResourceSetQuota](t, "metadata: {name: alice}\nspec: {scope: {user: alice}, limits: {sets: {large: 0}}}")
	c.mustCreate(t, quota)
	grow := `{"spec":{"template":{"spec":{"containers":[{"name":"app","image":"example.com/app","resources":{"limits":{"aipub.io/set-large":"1"}}}]}}}}`
	eventually(t, "a template that asks for a set is refused", func() error {
		err := c.as(t, "alice").Patch(t.Context(), notebook.DeepCopy(), client.RawPatch("application/merge-patch+json", []byte(grow)), client.DryRunAll)
		if err == nil || !strings.Contains(err.Error(), "spec.template.spec.containers[0].resources.limits[aipub.io/set-large]: alice may have no sets large") {
			return fmt.Errorf("got %w", err)
		}
		return nil
	})
	if err := c.Delete(t.Context(), quota); err != nil {
		t.Fatal(err)
	}
}

func testResumeOfADeployment(t *testing.T, c *cluster) {
	editor := note(deployment("editor"), v1alpha1.TypeAnnotation, "Workspace")
	eventually(t, "the quota is gone", func() error { return c.as(t, "alice").Create(t.Context(), editor) })
	ask := func(pause string, replicas int32) {
		t.Helper()
		if err := c.merge(t, "alice", editor, fmt.Sprintf(`{"metadata":{"annotations":{"aipub.io/pause":%q}}}`, pause)); err != nil {
			t.Fatal(err)
		}
		eventually(t, fmt.Sprintf("it has %d replicas", replicas), func() error {
			if c.reread(t, editor); *editor.Spec.Replicas != replicas {
				return fmt.Errorf("%d, annotations %v", *editor.Spec.Replicas, editor.Annotations)
			}
			return nil
		})
	}
	ask("true", 0)
	quota := convert[v1alpha1.ResourceSetQuota](t, "metadata: {name: alice}\nspec: {scope: {user: alice}, limits: {sets: {large: 0}}}")
	c.mustCreate(t, quota)
	eventually(t, "to scale it by hand is refused", func() error {
		err := c.as(t, "alice").Patch(t.Context(), editor.DeepCopy(), client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"replicas":1}}`)), client.DryRunAll)
		if err == nil || !strings.Contains(err.Error(), "alice may have no sets large") {
			return fmt.Errorf("got %w", err)
		}
		return nil
	})
	ask("false", 1)
	for _, object := range []client.Object{editor, quota} {
		if err := c.Delete(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
}

func testExtensions(t *testing.T, c *cluster) {
	lab, job := largeWorkspace("lab"), cronJob("extended")
	c.create(t, "alice", job)
	extend := func(who string, object client.Object, to string) error {
		return c.merge(t, who, object, fmt.Sprintf(`{"metadata":{"annotations":{"aipub.io/extend":%s}}}`, to))
	}
	requireRefused(t, extend("alice", lab, `"1h"`), "nothing limits how long")
	c.mustCreate(t, convert[v1alpha1.ReclaimPolicy](t, "metadata: {name: everyone}\nspec: {scope: {everyone: true}, maxOccupancyHours: 24, maxExtensionHours: 8}"))
	requireRefused(t, extend("alice", lab, `"9h"`), `metadata.annotations[aipub.io/extend]: "9h"`, "more than the 8h that ReclaimPolicy everyone lets")
	requireRefused(t, extend("alice", lab, `"soon"`), "such as 8h")
	requireRefused(t, extend("alice", job, `"1h"`), "this is a Job", "nothing to extend")
	for _, step := range []struct{ who, to, by string }{{"alice", `"8h"`, "alice"}, {"lead", `"20h"`, "lead"}, {"bob", `"10h"`, "bob"}, {"alice", "null", "alice"}} {
		if err := extend(step.who, lab, step.to); err != nil {
			t.Fatalf("%s extends to %s: %v", step.who, step.to, err)
		}
		c.reread(t, lab)
		requireNotes(t, lab, map[string]string{v1alpha1.ExtendedByAnnotation: step.by})
	}
	requireRefused(t, c.merge(t, "bob", lab, `{"metadata":{"annotations":{"aipub.io/extended-by":"lead"}}}`), "metadata.annotations[aipub.io/extended-by]", "leave it out")
	notebook := deployment("notebook")
	status := c.as(t, "alice").Status().Patch(t.Context(), notebook, client.RawPatch("application/merge-patch+json",
		[]byte(`{"metadata":{"annotations":{"aipub.io/extend":"99h","aipub.io/extended-by":"alice"}}}`)))
	requireRefused(t, status, "not through a subresource")
}

func testControllersNotes(t *testing.T, c *cluster) {
	// Of a kind that our controller has nothing to say about, as it runs here too.
	notebook := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "alone"}, Spec: appsv1.ReplicaSetSpec{Selector: selector, Template: template()}}
	eventually(t, "the quota is gone", func() error {
		return c.as(t, "alice").Create(t.Context(), note(notebook, v1alpha1.TypeAnnotation, "Workspace"))
	})
	c.refuse(t, "alice", note(deployment("x"), v1alpha1.OccupancyAnnotation, "{}"), "metadata.annotations[aipub.io/occupancy]", "leave it out")
	written := map[string]string{v1alpha1.OccupancyAnnotation: "{}", v1alpha1.PausedAnnotation: "{}", v1alpha1.PausedReplicasAnnotation: "1"}
	if err := c.merge(t, ourController, notebook, `{"metadata":{"annotations":{"aipub.io/occupancy":"{}","aipub.io/paused":"{}","aipub.io/paused-replicas":"1"}}}`); err != nil {
		t.Fatal(err)
	}
	// As kubectl rollout undo would: what is at an earlier revision.
	if err := c.merge(t, "alice", notebook, `{"metadata":{"annotations":{"aipub.io/occupancy":"old","aipub.io/paused-replicas":null}}}`); err != nil {
		t.Errorf("a roll-back is refused: %v", err)
	}
	c.reread(t, notebook)
	requireNotes(t, notebook, written)
	if err := c.merge(t, "bob", notebook, `{"metadata":{"annotations":{"aipub.io/paused":null}}}`); err != nil {
		t.Errorf("a resume is refused: %v", err)
	}
	c.reread(t, notebook)
	requireNotes(t, notebook, map[string]string{v1alpha1.PausedAnnotation: "", v1alpha1.OccupancyAnnotation: "{}"})
	for patch, part := range map[string]string{
		`{"metadata":{"annotations":{"aipub.io/occupancy":"x"}}}`:       "metadata.annotations[aipub.io/occupancy]",
		`{"metadata":{"annotations":{"aipub.io/paused":"x"}}}`:          "to resume, take aipub.io/paused away",
		`{"metadata":{"annotations":{"aipub.io/paused-replicas":"x"}}}`: "metadata.annotations[aipub.io/paused-replicas]",
	} {
		// The webhook does not see the subresource; the policy does.
		err := c.as(t, "alice").Status().Patch(t.Context(), notebook.DeepCopy(), client.RawPatch("application/merge-patch+json", []byte(patch)))
		requireRefused(t, err, part, "aipub-identity-update")
	}
	owner := deployment("notebook")
	c.reread(t, owner)
	rs := note(replicaSet("notebook-1", owner), v1alpha1.OccupancyAnnotation, "{}")
	c.create(t, kubeSystem+"deployment-controller", rs) // as it copies a Deployment's annotations
}

func testNonsense(t *testing.T, c *cluster) {
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "gang"}, Spec: batchv1.JobSpec{Template: template()}}
	job.Spec.Template.Labels, job.Spec.Template.Spec.RestartPolicy = nil, corev1.RestartPolicyNever
	c.refuse(t, "alice", note(job.DeepCopy(), v1alpha1.GangAnnotation, "9"), "metadata.annotations[aipub.io/gang]", "more than spec.parallelism, which is 1")
	c.create(t, "alice", job)
	requireRefused(t, c.merge(t, "alice", job, `{"metadata":{"annotations":{"aipub.io/gang":"-2"}}}`), `"-2" is no number of pods that start together`)
	nightly := cronJob("nonsense")
	c.create(t, "alice", nightly)
	requireRefused(t, c.merge(t, "alice", nightly, `{"spec":{"jobTemplate":{"metadata":{"annotations":{"aipub.io/gang":"x"}}}}}`), "spec.jobTemplate.metadata.annotations[aipub.io/gang]")
	requireRefused(t, c.merge(t, "lead", job, `{"metadata":{"annotations":{"aipub.io/rank":"First!"}}}`), "metadata.annotations[aipub.io/rank]", "is no place in the queue")
	c.mustCreate(t, namespace("nameless", map[string]string{v1alpha1.ProjectLabel: ""}))
	c.refuse(t, "alice", setPod("nameless", "x", "large=1"), "has the label aipub.io/project without a value")
}
