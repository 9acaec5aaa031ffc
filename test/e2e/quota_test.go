//go:build e2e

// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "aipub.io/aipub/api/v1alpha1"
)

// quotaOf makes a quota and removes it at the end of the test.
func quotaOf(t *testing.T, name string, scope api.QuotaScope, sets map[string]int32) {
	t.Helper()
	q := &api.ResourceSetQuota{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       api.ResourceSetQuotaSpec{Scope: scope, Limits: api.QuotaLimits{SetLimits: api.SetLimits{Sets: sets}}},
	}
	if err := shared.Create(t.Context(), q); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = shared.Delete(context.Background(), q) })
	eventually(t, 20*time.Second, "quota "+name+" has a status", func(ctx context.Context) error {
		if err := shared.Get(ctx, client.ObjectKeyFromObject(q), q); err != nil {
			return err
		}
		if q.Status.ObservedGeneration != q.Generation {
			return fmt.Errorf("observed generation %d", q.Status.ObservedGeneration)
		}
		return nil
	})
}

// job makes a Job of one pod that sleeps, and removes it at the end of the test.
func job(t *testing.T, name, set string) {
	t.Helper()
	p := pod(name, set)
	p.Spec.RestartPolicy = corev1.RestartPolicyNever
	j := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: project},
		Spec:       batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: p.Spec}},
	}
	made, err := shared.core.BatchV1().Jobs(project).Create(t.Context(), j, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { deleteJob(t, made.Name) })
}

func deleteJob(t *testing.T, name string) {
	t.Helper()
	if out, err := kubectl("-n", project, "delete", "job", name, "--ignore-not-found", "--wait"); err != nil {
		t.Errorf("delete job %s: %v: %s", name, err, out)
	}
}

// runningJobs are the Jobs that have a running pod.
func runningJobs(ctx context.Context) ([]string, error) {
	var pods corev1.PodList
	if err := shared.List(ctx, &pods, client.InNamespace(project)); err != nil {
		return nil, err
	}
	var names []string
	for _, p := range pods.Items {
		if name := p.Labels["job-name"]; name != "" && p.Status.Phase == corev1.PodRunning && p.DeletionTimestamp.IsZero() {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, nil
}

func expectRunningJobs(t *testing.T, want ...string) {
	t.Helper()
	eventually(t, time.Minute, fmt.Sprintf("the Jobs that run are %v", want), func(ctx context.Context) error {
		got, err := runningJobs(ctx)
		if err != nil {
			return err
		}
		if !slices.Equal(got, want) {
			return fmt.Errorf("they are %v", got)
		}
		return nil
	})
}

// waitsFor waits until a pod is held back for this reason, and returns the sentence.
func waitsFor(t *testing.T, selector, reason string) string {
	t.Helper()
	said := ""
	eventually(t, 30*time.Second, "a pod of "+selector+" waits for "+reason, func(ctx context.Context) error {
		pods, err := shared.core.CoreV1().Pods(project).List(ctx, metav1.ListOptions{LabelSelector: selector})
		if err != nil {
			return err
		}
		for _, p := range pods.Items {
			for _, c := range p.Status.Conditions {
				if c.Type == api.ConditionAllocated && c.Status == corev1.ConditionFalse && c.Reason == reason {
					said = c.Message
					return nil
				}
			}
		}
		return fmt.Errorf("%d pods, none waits for it", len(pods.Items))
	})
	return said
}

func TestAWorkspaceIsRefusedAtTheLimitWithASentence(t *testing.T) {
	quotaOf(t, "each", api.QuotaScope{Project: project, EachUser: true}, map[string]int32{"small": 1})
	first := pod("first", "small")
	first.Annotations = map[string]string{api.TypeAnnotation: string(api.TypeWorkspace)}
	start(t, first)
	running(t, "first")
	second := pod("second", "small")
	second.Annotations = first.Annotations
	err := shared.Create(t.Context(), second)
	if err == nil {
		t.Cleanup(func() { remove(t, second) })
		t.Fatal("a second Workspace was let in")
	}
	t.Log(err)
	for _, word := range []string{"small", "1 of 1", "quota each", "first"} {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("the refusal does not say %q", word)
		}
	}
}

func TestJobsWaitInOrderAndAPromotedOneRunsNext(t *testing.T) {
	quotaOf(t, "whole", api.QuotaScope{Project: project}, map[string]int32{"small": 1})
	job(t, "a", "small")
	expectRunningJobs(t, "a")
	for _, name := range []string{"b", "c", "d"} {
		job(t, name, "small")
		eventually(t, 30*time.Second, name+" waits", func(context.Context) error {
			if _, err := orderOf(name); err != nil {
				return err
			}
			return nil
		})
		time.Sleep(1100 * time.Millisecond) // a creation time has seconds
	}
	t.Log(waitsFor(t, "job-name=b", api.ReasonProjectQuotaReached))
	if got, err := orderOf("b", "c", "d"); err != nil || !slices.Equal(got, []string{"b", "c", "d"}) {
		t.Fatalf("the order is %v, %v", got, err)
	}
	t.Log(mustKubectl(t, "aipub", "queue", "promote", project+"/job/d", "--dry-run"))
	t.Log(mustKubectl(t, "aipub", "queue", "promote", project+"/job/d"))
	eventually(t, 10*time.Second, "the promoted one is first", func(context.Context) error {
		got, err := orderOf("b", "c", "d")
		if err == nil && !slices.Equal(got, []string{"d", "b", "c"}) {
			err = fmt.Errorf("the order is %v", got)
		}
		return err
	})
	t.Log(mustKubectl(t, "aipub", "queue", "move", project+"/job/c", "--before", project+"/job/b"))
	for _, step := range []struct{ ends, next string }{{"a", "d"}, {"d", "c"}, {"c", "b"}} {
		deleteJob(t, step.ends)
		expectRunningJobs(t, step.next)
	}
}

// orderOf is the order in which the queue command lists these Jobs.
func orderOf(names ...string) ([]string, error) {
	out, err := kubectl("aipub", "queue", project)
	if err != nil {
		return nil, fmt.Errorf("list queue: %w: %s", err, out)
	}
	var order []string
	for _, m := range regexp.MustCompile(`/job/([a-z]+)\b`).FindAllStringSubmatch(out, -1) {
		if slices.Contains(names, m[1]) && !slices.Contains(order, m[1]) {
			order = append(order, m[1])
		}
	}
	if len(order) != len(names) {
		return nil, fmt.Errorf("the queue does not list all of %v:\n%s", names, out)
	}
	return order, nil
}

// TestSmallAndLargeSetsNeverOvercommit asks for far more of three sizes than fit on
// the GPU that is cut by blocks, and watches until everything has run.
func TestSmallAndLargeSetsNeverOvercommit(t *testing.T) {
	const jobs = 12
	for i := range jobs {
		name, set := fmt.Sprintf("mix-%d", i), []string{"small", "medium", "small"}[i%3]
		p := pod(name, set)
		p.Spec.RestartPolicy = corev1.RestartPolicyNever
		p.Spec.Containers[0].Command = []string{"/bin/sh", "-c", "sleep 2"}
		j := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: project}, Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: p.Spec}}}
		if _, err := shared.core.BatchV1().Jobs(project).Create(t.Context(), j, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { deleteJob(t, name) })
	}
	eventually(t, 3*time.Minute, "every Job has run", func(ctx context.Context) error {
		s, err := partition(ctx)
		if err != nil {
			return err
		}
		percent := map[string]int32{}
		for _, sl := range s.Slices {
			if sl.State == "Held" && sl.BlockPercent > 0 {
				percent[sl.GPUs[0]] += sl.BlockPercent
			}
		}
		for uuid, p := range percent {
			if p > 100 {
				t.Errorf("GPU %s: %d percent are held", uuid, p)
			}
		}
		list, err := shared.core.BatchV1().Jobs(project).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		done := 0
		for _, j := range list.Items {
			if strings.HasPrefix(j.Name, "mix-") {
				done += int(j.Status.Succeeded)
				if j.Status.Failed > 0 {
					t.Errorf("a pod of %s was started where there was no room: %+v", j.Name, j.Status)
				}
			}
		}
		if done < jobs {
			return fmt.Errorf("%d of %d have run", done, jobs)
		}
		return nil
	})
}
