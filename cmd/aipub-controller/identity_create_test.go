// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"aipub.io/aipub/api/v1alpha1"
)

func requireGated(t *testing.T, pod *corev1.Pod) {
	t.Helper()
	if !slices.Contains(pod.Spec.SchedulingGates, corev1.PodSchedulingGate{Name: v1alpha1.QuotaGate}) || pod.Labels[v1alpha1.SetLabel] != "large" {
		t.Errorf("gates %v, labels %v: want the gate and the set large", pod.Spec.SchedulingGates, pod.Labels)
	}
}

func testStamps(t *testing.T, c *cluster) {
	pod := setPod("team", "alices", "large=1")
	pod.Labels = map[string]string{v1alpha1.UserAnnotation: "bob", v1alpha1.SetLabel: "cpu"}
	c.create(t, "alice", pod)
	requireGated(t, pod)
	requireNotes(t, pod, charged("alice"))
	requireNotes(t, pod, map[string]string{v1alpha1.TypeAnnotation: "Job", v1alpha1.WorkloadAnnotation: "", v1alpha1.OpenedAnnotation: ""})

	generated := setPod("team", "", "large=1")
	generated.GenerateName = "made-up-"
	if err := c.as(t, "alice").Create(t.Context(), generated, client.DryRunAll); err != nil {
		t.Fatal(err)
	}
	requireGated(t, generated)
	requireNotes(t, generated, charged("alice"))

	other := setPod("team", "other-gates", "large=1")
	other.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "example.com/own"}}
	c.create(t, "alice", other)
	requireGated(t, other)

	notebook := note(deployment("notebook"), v1alpha1.TypeAnnotation, "Workspace")
	c.create(t, "alice", notebook)
	requireNotes(t, notebook, map[string]string{v1alpha1.UserAnnotation: "alice", v1alpha1.TypeAnnotation: "Workspace"})

	free := deployment("free")
	free.Spec.Template.Spec = setPod("", "", "").Spec
	c.create(t, "alice", free)
	requireNotes(t, free, charged("alice"))
}

func testOwners(t *testing.T, c *cluster) {
	web := deployment("web")
	c.create(t, "alice", web)
	rs := replicaSet("web-1", web)
	rs.Annotations = map[string]string{v1alpha1.UserAnnotation: "bob"} // as if copied from a forged place
	c.create(t, kubeSystem+"deployment-controller", rs)
	requireNotes(t, rs, charged("alice"))

	pod := func(name string, owner client.Object) *corev1.Pod {
		return ownedBy(setPod("team", name, "large=1"), "apps/v1", "ReplicaSet", owner)
	}
	real := pod("web-1-a", rs)
	c.create(t, kubeSystem+"replicaset-controller", real)
	requireNotes(t, real, charged("alice"))
	requireNotes(t, real, map[string]string{v1alpha1.TypeAnnotation: "Operation", v1alpha1.WorkloadAnnotation: fmt.Sprintf("apps/Deployment/web/%s", web.UID)})

	wrong := rs.DeepCopy()
	wrong.UID = "00000000-0000-0000-0000-000000000000"
	c.refuse(t, kubeSystem+"replicaset-controller", pod("x", wrong), "metadata.ownerReferences", "replicaset/web-1", "has uid "+string(rs.UID))
	gone := rs.DeepCopy()
	gone.Name = "gone"
	c.refuse(t, kubeSystem+"replicaset-controller", pod("x", gone), "replicaset/gone", "does not exist")
	c.refuse(t, kubeSystem+"replicaset-controller", ownedBy(setPod("team", "x", "large=1"), "example.com/v1", "Thing", rs), "Thing.example.com", "identity.kinds")
	c.refuse(t, kubeSystem+"job-controller", setPod("team", "x", "large=1"), "without a controlling owner")

	// A person who names another's object as owner gains nothing by it.
	mine := pod("bobs", rs)
	c.create(t, "bob", mine)
	requireNotes(t, mine, charged("bob"))
	requireNotes(t, mine, map[string]string{v1alpha1.WorkloadAnnotation: ""})
	fake := replicaSet("fake", web)
	c.create(t, "bob", fake)
	child := pod("fake-a", fake)
	c.create(t, kubeSystem+"replicaset-controller", child)
	requireNotes(t, child, charged("bob"))
	requireNotes(t, child, map[string]string{v1alpha1.WorkloadAnnotation: fmt.Sprintf("apps/ReplicaSet/fake/%s", fake.UID)})
}

func testForgedCreates(t *testing.T, c *cluster) {
	pod := func(key, value string) *corev1.Pod { return note(setPod("team", "x", "large=1"), key, value) }
	node := setPod("team", "x", "large=1")
	node.Spec.NodeName = "n1"
	gated := setPod("team", "x", "")
	gated.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: v1alpha1.QuotaGate}}
	labelled := setPod("team", "x", "")
	labelled.Labels = map[string]string{v1alpha1.SetLabel: "large"}
	for name, tc := range map[string]struct {
		who    string
		object client.Object
		parts  []string
	}{
		"another's name on a pod":           {"bob", pod(v1alpha1.UserAnnotation, "alice"), []string{"metadata.annotations[aipub.io/user]", `"alice"`, "the request is from bob", "verb assign"}},
		"another's name on a Deployment":    {"bob", note(deployment("x"), v1alpha1.UserAnnotation, "alice"), []string{`"alice"`, "from bob"}},
		"another's name, nothing asked":     {"bob", note(setPod("team", "x", ""), v1alpha1.UserAnnotation, "alice"), []string{`"alice"`, "from bob"}},
		"the project's name":                {"bob", pod(v1alpha1.UserAnnotation, "project:vision"), []string{`"project:vision"`, "from bob"}},
		"another's name, for somebody else": {"carer", pod(v1alpha1.UserAnnotation, "bob"), []string{`"bob"`, "from carer"}},
		"another project":                   {"bob", pod(v1alpha1.ProjectAnnotation, "nlp"), []string{"metadata.annotations[aipub.io/project]", `"nlp"`, "vision"}},
		"no type":                           {"bob", pod(v1alpha1.TypeAnnotation, "Urgent"), []string{"metadata.annotations[aipub.io/type]", `"Urgent"`, "Workspace, Job and Operation"}},
		"another's workload":                {"bob", pod(v1alpha1.WorkloadAnnotation, "apps/Deployment/web/1"), []string{"metadata.annotations[aipub.io/workload]"}},
		"opened from the start":             {"bob", pod(v1alpha1.OpenedAnnotation, "Within"), []string{"metadata.annotations[aipub.io/opened]"}},
		"on a node from the start":          {"bob", node, []string{"spec.nodeName", `"n1"`, "spec.nodeSelector"}},
		"a node by annotation":              {"bob", note(deployment("x"), v1alpha1.NodeAnnotation, "n1"), []string{"metadata.annotations[aipub.io/node]"}},
		"the gate without a set":            {"bob", gated, []string{"spec.schedulingGates", "leave it out"}},
		"the label without a set":           {"bob", labelled, []string{"metadata.labels[aipub.io/set]", "asks for none"}},
		"a place in the queue":              {"bob", note(deployment("x"), v1alpha1.RankAnnotation, "a"), []string{"metadata.annotations[aipub.io/rank]", "verb reorder", "vision"}},
		"a place before all":                {"lead", note(deployment("x"), v1alpha1.PromotedAnnotation, "a"), []string{"metadata.annotations[aipub.io/promoted]", "verb promote"}},
		"a part of the system":              {"system:node:n1", setPod("team", "x", "large=1"), []string{"system:node:n1 is no person"}},
	} {
		t.Run(name, func(t *testing.T) { c.refuse(t, tc.who, tc.object, tc.parts...) })
	}

	// Who has the right may.
	given := pod(v1alpha1.UserAnnotation, "alice")
	given.Name = "given"
	c.create(t, "carer", given)
	requireNotes(t, given, charged("alice"))
	shared := pod(v1alpha1.UserAnnotation, "project:vision")
	shared.Name = "shared"
	c.create(t, "lead", shared)
	requireNotes(t, shared, charged("project:vision"))
	ranked := note(deployment("ranked"), v1alpha1.RankAnnotation, "m")
	c.create(t, "lead", ranked)
	requireNotes(t, ranked, map[string]string{v1alpha1.RankedByAnnotation: "lead"})
}

func testAccounts(t *testing.T, c *cluster) {
	account := func(name string) *corev1.ServiceAccount {
		return &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: name}}
	}
	const team = "system:serviceaccount:team:"
	unbound := account("default")
	c.create(t, kubeSystem+"service-account-controller", unbound)
	requireNotes(t, unbound, map[string]string{v1alpha1.UserAnnotation: ""})
	c.refuse(t, team+"default", setPod("team", "x", "large=1"), "metadata.annotations[aipub.io/user]", "acts for nobody", "kubectl annotate serviceaccount -n team default aipub.io/user=USER")
	c.refuse(t, team+"default", note(setPod("team", "x", "large=1"), v1alpha1.UserAnnotation, "alice"), `"alice" would be charged`)

	ci := account("ci")
	c.create(t, "alice", ci)
	requireNotes(t, ci, map[string]string{v1alpha1.UserAnnotation: "alice", v1alpha1.ProjectAnnotation: ""})
	pod := setPod("team", "by-ci", "large=1")
	eventually(t, "the API server sees the account", func() error { return c.as(t, team+"ci").Create(t.Context(), pod) })
	requireNotes(t, pod, charged("alice"))
	c.refuse(t, team+"ci", note(setPod("team", "x", "large=1"), v1alpha1.UserAnnotation, "bob"), `"bob"`, "which acts for alice")
	c.refuse(t, team+"ci", note(account("for-bob"), v1alpha1.UserAnnotation, "bob"), `"bob"`)
	next := account("next")
	c.create(t, team+"ci", next)
	requireNotes(t, next, map[string]string{v1alpha1.UserAnnotation: "alice"})
	c.refuse(t, "bob", note(account("as-alice"), v1alpha1.UserAnnotation, "alice"), `"alice"`, "from bob")
	c.refuse(t, "system:serviceaccount:argocd:server", setPod("team", "x", "large=1"), "argocd/server is of another namespace")

	bind := func(who, name, user string) error {
		return c.merge(t, who, account(name), `{"metadata":{"annotations":{"aipub.io/user":`+user+`}}}`)
	}
	requireRefused(t, bind("bob", "default", `"alice"`), "metadata.annotations[aipub.io/user]", `"alice"`, "verb assign")
	requireRefused(t, bind("bob", "ci", `"bob"`), `"bob" instead of "alice"`)
	if err := bind("bob", "default", `"bob"`); err != nil {
		t.Fatalf("bob binds an account to himself: %v", err)
	}
	bobs := setPod("team", "by-default", "large=1")
	eventually(t, "the API server sees the binding", func() error { return c.as(t, team+"default").Create(t.Context(), bobs) })
	requireNotes(t, bobs, charged("bob"))
	if err := bind("lead", "default", `"project:vision"`); err != nil {
		t.Fatalf("an assigner binds it to the project: %v", err)
	}
	requireRefused(t, bind("lead", "default", `"project:nlp"`), "names another project")
}

func testTemplates(t *testing.T, c *cluster) {
	cron := cronJob("x")
	cron.Spec.JobTemplate.Annotations = map[string]string{v1alpha1.UserAnnotation: "alice"}
	inner := cronJob("x")
	inner.Spec.JobTemplate.Spec.Template.Annotations = map[string]string{v1alpha1.ProjectAnnotation: "nlp"}
	first := cronJob("x")
	first.Spec.JobTemplate.Annotations = map[string]string{v1alpha1.PromotedAnnotation: "0"}
	forged := *note(volumeClaim("data"), v1alpha1.UserAnnotation, "alice")
	storing := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "x"}, Spec: appsv1.StatefulSetSpec{Selector: selector, Template: template()}}
	storing.Spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{forged}
	scratch := corev1.Volume{Name: "s", VolumeSource: corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{
		VolumeClaimTemplate: &corev1.PersistentVolumeClaimTemplate{ObjectMeta: metav1.ObjectMeta{Annotations: forged.Annotations}, Spec: forged.Spec}}}}
	using, pod := deployment("x"), setPod("team", "x", "large=1")
	using.Spec.Template.Spec.Volumes = []corev1.Volume{scratch}
	pod.Spec.Volumes = []corev1.Volume{scratch}
	for name, tc := range map[string]struct {
		object client.Object
		parts  []string
	}{
		"the claims of a StatefulSet": {storing, []string{"the template's metadata.annotations[aipub.io/user]", `"alice"`}},
		"the volumes of a Deployment": {using, []string{"the template's metadata.annotations[aipub.io/user]", `"alice"`}},
		"the volumes of a pod":        {pod, []string{"the template's metadata.annotations[aipub.io/user]", `"alice"`}},
		"another's name":              {inTemplate(deployment("x"), v1alpha1.UserAnnotation, "alice"), []string{"the template's metadata.annotations[aipub.io/user]", `"alice"`, `which is "bob"`}},
		"another type":                {inTemplate(deployment("x"), v1alpha1.TypeAnnotation, "Job"), []string{"aipub.io/type", `which is "Operation"`}},
		"a node":                      {inTemplate(deployment("x"), v1alpha1.NodeAnnotation, "n1"), []string{"aipub.io/node", "leave it out of the template"}},
		"opened":                      {inTemplate(deployment("x"), v1alpha1.OpenedAnnotation, "Within"), []string{"aipub.io/opened"}},
		"a workload":                  {inTemplate(deployment("x"), v1alpha1.WorkloadAnnotation, "a/b/c/d"), []string{"aipub.io/workload"}},
		"a CronJob's Jobs":            {cron, []string{"aipub.io/user", `"alice"`}},
		"a place in the queue":        {first, []string{"aipub.io/promoted", "leave it out of the template"}},
		"the pods of CronJob Jobs":    {inner, []string{"aipub.io/project", `"nlp"`}},
	} {
		t.Run(name, func(t *testing.T) { c.refuse(t, "bob", tc.object, tc.parts...) })
	}
	same := inTemplate(deployment("same"), v1alpha1.UserAnnotation, "bob")
	c.create(t, "bob", same)
	requireRefused(t, c.merge(t, "bob", same, `{"spec":{"template":{"metadata":{"annotations":{"aipub.io/user":"alice"}}}}}`), "aipub-identity-templates", `"alice"`)
}

func volumeClaim(name string) *corev1.PersistentVolumeClaim {
	return &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: name}, Spec: corev1.PersistentVolumeClaimSpec{
		AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
		Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
	}}
}

func testClaims(t *testing.T, c *cluster) {
	own := volumeClaim("own")
	c.create(t, "alice", own)
	requireNotes(t, own, charged("alice"))
	requireNotes(t, own, map[string]string{v1alpha1.TypeAnnotation: ""})
	c.refuse(t, "bob", note(volumeClaim("x"), v1alpha1.UserAnnotation, "alice"), `"alice"`, "from bob")

	set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "db"}, Spec: appsv1.StatefulSetSpec{Selector: selector, Template: template()}}
	set.Spec.Template.Spec = setPod("", "", "").Spec
	set.Spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{*volumeClaim("data")}
	c.create(t, "alice", set)
	made := volumeClaim("data-db-0")
	made.Labels = selector.MatchLabels
	c.create(t, kubeSystem+"statefulset-controller", made)
	requireNotes(t, made, charged("alice"))

	scratch := setPod("team", "scratch", "")
	scratch.Spec.Volumes = []corev1.Volume{{Name: "s", VolumeSource: corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{
		VolumeClaimTemplate: &corev1.PersistentVolumeClaimTemplate{Spec: volumeClaim("").Spec}}}}}
	c.create(t, "bob", scratch)
	requireNotes(t, scratch, charged("bob"))
	if len(scratch.Spec.SchedulingGates) > 0 {
		t.Errorf("gates %v on a pod that asks for no set", scratch.Spec.SchedulingGates)
	}
	volume := ownedBy(volumeClaim("scratch-s"), "v1", "Pod", scratch)
	c.create(t, kubeSystem+"ephemeral-volume-controller", volume)
	requireNotes(t, volume, charged("bob"))
}

func testCronJob(t *testing.T, c *cluster) {
	cron := cronJob("nightly")
	c.create(t, "erin", cron)
	// Erin leaves: nothing in the cluster knows her any more, but the CronJob does.
	job := ownedBy(&batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "nightly-1"}, Spec: cron.Spec.JobTemplate.Spec}, "batch/v1", "CronJob", cron)
	c.create(t, kubeSystem+"cronjob-controller", job)
	requireNotes(t, job, charged("erin"))
	pod := ownedBy(setPod("team", "nightly-1-a", "large=1"), "batch/v1", "Job", job)
	c.create(t, kubeSystem+"job-controller", pod)
	requireNotes(t, pod, charged("erin"))
	requireNotes(t, pod, map[string]string{v1alpha1.TypeAnnotation: "Job", v1alpha1.WorkloadAnnotation: fmt.Sprintf("batch/Job/nightly-1/%s", job.UID)})
}
