// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"aipub.io/aipub/api/v1alpha1"
)

// TestIdentity tries to have somebody else charged, on one kube-apiserver with the
// chart's webhooks and policies. Nothing acts as Kubernetes' controllers do here, so
// the tests send what these would send, under their names. The parts build on each
// other, in order.
func TestIdentity(t *testing.T) {
	c := startCluster(t)
	c.letTenantsIn(t)
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
		{"a pod says who, what and where in line", testStamps},
		{"controllers copy from owners that exist", testOwners},
		{"nobody is charged for what others write", testForgedCreates},
		{"accounts act for whom they are bound to", testAccounts},
		{"templates carry no identity", testTemplates},
		{"volume claims are charged", testClaims},
		{"stamps stay", testStampsStay},
		{"gates are opened by one", testGates},
		{"the order is changed by who may", testRanks},
		{"workloads that ask at once are judged", testJudged},
		{"over quota, a Workspace is refused and a Job waits", testRefusedAtOnce},
		{"a CronJob outlives its author's rights", testCronJob},
		{"a namespace moves to another project", testMovedNamespace},
		{"what is not managed is not touched", testUnmanaged},
		{"an outage: what the policies refuse", testIdentityOutage},
		{"no webhooks: what the policies refuse", testPoliciesAlone},
	} {
		if !t.Run(part.name, func(t *testing.T) { part.run(t, c) }) {
			return
		}
	}
}

const kubeSystem = "system:serviceaccount:kube-system:"

// as returns a client that acts as somebody: a person is a tenant.
func (c *cluster) as(t *testing.T, user string) client.Client {
	t.Helper()
	groups := []string{"system:authenticated", "tenants"}
	if rest, is := strings.CutPrefix(user, "system:serviceaccount:"); is {
		home, _, _ := strings.Cut(rest, ":")
		groups = []string{"system:authenticated", "system:serviceaccounts", "system:serviceaccounts:" + home}
	}
	config := rest.CopyConfig(c.config)
	config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: groups}
	config.QPS = -1
	as, err := client.New(config, client.Options{Scheme: newScheme()})
	if err != nil {
		t.Fatal(err)
	}
	return as
}

// letTenantsIn gives tenants, their ServiceAccounts and Kubernetes' controllers all
// rights on workloads, and some people one of ours each.
func (c *cluster) letTenantsIn(t *testing.T) {
	t.Helper()
	all := []string{"get", "list", "watch", "create", "update", "patch", "delete"}
	c.grant(t, "tenant", rbacv1.PolicyRule{APIGroups: []string{"", "apps", "batch"}, Resources: []string{"*"}, Verbs: all},
		group("tenants"), group("system:serviceaccounts:team"), group("system:serviceaccounts:kube-system"),
		group("system:serviceaccounts:argocd"), user("system:serviceaccount:aipub-system:aipub-controller"))
	own := func(resource, verb string, names ...string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{APIGroups: []string{"aipub.io"}, Resources: []string{resource}, Verbs: []string{verb}, ResourceNames: names}
	}
	c.grant(t, "assigner", own("identities", "assign"), user("lead"))
	c.grant(t, "carer", own("identities", "assign", "alice"), user("carer"))
	c.grant(t, "reorderer", own("priorityqueues", "reorder", "vision"), user("lead"))
	c.grant(t, "stranger", own("priorityqueues", "reorder", "nlp"), user("stranger"))
	c.grant(t, "promoter", own("priorityqueues", "promote"), user("chief"))
	c.grant(t, "half-promoter", own("priorityqueues", "promote", "vision"), user("lead")) // not enough
	c.grant(t, "opener", own("gates", "open"), user("doorman"))
}

func user(name string) rbacv1.Subject {
	return rbacv1.Subject{Kind: "User", APIGroup: rbacv1.GroupName, Name: name}
}

func group(name string) rbacv1.Subject {
	return rbacv1.Subject{Kind: "Group", APIGroup: rbacv1.GroupName, Name: name}
}

func (c *cluster) grant(t *testing.T, name string, rule rbacv1.PolicyRule, to ...rbacv1.Subject) {
	t.Helper()
	c.mustCreate(t, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: []rbacv1.PolicyRule{rule}})
	c.mustCreate(t, &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: name}, Subjects: to,
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name}})
}

// awaitPolicies waits until the API server enforces the policies, by dry runs of
// what each of them refuses.
func (c *cluster) awaitPolicies(t *testing.T) {
	t.Helper()
	alice := c.as(t, "alice")
	gated := setPod("team", "probe", "")
	gated.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: v1alpha1.QuotaGate}}
	for policy, object := range map[string]client.Object{
		"aipub-identity-create":    note(deployment("probe"), v1alpha1.RankAnnotation, "a"),
		"aipub-identity-templates": inTemplate(deployment("probe"), v1alpha1.WorkloadAnnotation, "x"),
		"aipub-identity-outside":   note(setPod("plain", "probe", ""), v1alpha1.UserAnnotation, "alice"),
		"aipub-pods-create":        gated,
	} {
		eventually(t, policy, func() error {
			err := alice.Create(t.Context(), object.DeepCopyObject().(client.Object), client.DryRunAll)
			if err == nil || !strings.Contains(err.Error(), policy) {
				return fmt.Errorf("got %w", err)
			}
			return nil
		})
	}
}

// note adds an annotation.
func note[T client.Object](object T, key, value string) T {
	annotations := object.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[key] = value
	object.SetAnnotations(annotations)
	return object
}

func inTemplate(d *appsv1.Deployment, key, value string) *appsv1.Deployment {
	d.Spec.Template.Annotations = map[string]string{key: value}
	return d
}

func template() corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "x"}}, Spec: setPod("", "", "large=1").Spec}
}

var selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "x"}}

// deployment of pods that ask for a set, in namespace team.
func deployment(name string) *appsv1.Deployment {
	return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: name}, Spec: appsv1.DeploymentSpec{Selector: selector, Template: template()}}
}

func replicaSet(name string, owner client.Object) *appsv1.ReplicaSet {
	rs := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: name}, Spec: appsv1.ReplicaSetSpec{Selector: selector, Template: template()}}
	return ownedBy(rs, "apps/v1", "Deployment", owner)
}

func cronJob(name string) *batchv1.CronJob {
	c := &batchv1.CronJob{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: name}, Spec: batchv1.CronJobSpec{Schedule: "0 0 * * *"}}
	c.Spec.JobTemplate.Spec.Template = template()
	c.Spec.JobTemplate.Spec.Template.Labels = nil
	c.Spec.JobTemplate.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyNever
	return c
}

func ownedBy[T client.Object](object T, version, kind string, owner client.Object) T {
	yes := true
	object.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: version, Kind: kind, Name: owner.GetName(), UID: owner.GetUID(), Controller: &yes, BlockOwnerDeletion: &yes}})
	return object
}

// create is what must succeed, as somebody.
func (c *cluster) create(t *testing.T, who string, object client.Object) {
	t.Helper()
	if err := c.as(t, who).Create(t.Context(), object); err != nil {
		t.Fatalf("%s creates %T %s: %v", who, object, object.GetName(), err)
	}
}

// refuse is what must be refused, as somebody.
func (c *cluster) refuse(t *testing.T, who string, object client.Object, parts ...string) {
	t.Helper()
	requireRefused(t, c.as(t, who).Create(t.Context(), object), parts...)
}

// merge patches an object as somebody.
func (c *cluster) merge(t *testing.T, who string, object client.Object, patch string) error {
	t.Helper()
	return c.as(t, who).Patch(t.Context(), object.DeepCopyObject().(client.Object), client.RawPatch("application/merge-patch+json", []byte(patch)))
}

func (c *cluster) reread(t *testing.T, object client.Object) {
	t.Helper()
	if err := c.Get(context.Background(), client.ObjectKeyFromObject(object), object); err != nil {
		t.Fatal(err)
	}
}

// requireNotes checks annotations; an empty value means none.
func requireNotes(t *testing.T, object client.Object, want map[string]string) {
	t.Helper()
	for key, value := range want {
		if got := object.GetAnnotations()[key]; got != value {
			t.Errorf("%T %s: %s is %q, want %q", object, object.GetName(), key, got, value)
		}
	}
}

func charged(user string) map[string]string {
	return map[string]string{v1alpha1.UserAnnotation: user, v1alpha1.ProjectAnnotation: "vision"}
}
