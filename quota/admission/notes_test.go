// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"aipub.io/aipub/api/v1alpha1"
)

// changeOf sends an update to a webhook as a user; what becomes of it is returned
// with what its sender is told.
func changeOf(t *testing.T, hook *admission.Webhook, user, kind string, before, after client.Object) (notes map[string]string, told string) {
	t.Helper()
	req := requestFor(t, mustJSON(t, after))
	req.Operation, req.OldObject.Raw, req.UserInfo.Username = admissionv1.Update, mustJSON(t, before), user
	group, name, _ := strings.Cut(kind, "/")
	req.Kind = metav1.GroupVersionKind{Group: group, Version: "v1", Kind: name}
	response := hook.Handle(t.Context(), req)
	if !response.Allowed {
		return nil, response.Result.Message
	}
	var got metav1.PartialObjectMetadata
	if failed := decode(mustPatch(t, req.Object.Raw, response), &got); failed != nil {
		t.Fatal(failed.err)
	}
	return got.Annotations, strings.Join(response.Warnings, "; ")
}

func jobOf(parallelism int32, notes map[string]string) *batchv1.Job {
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "train", Annotations: notes}}
	if parallelism >= 0 {
		job.Spec.Parallelism = ptr.To(parallelism)
	}
	job.Spec.Template.Spec = podOf(container("app", "set-small=1", "")).Spec
	return job
}

func TestGangsThatCannotBe(t *testing.T) {
	for given, tc := range map[string]struct {
		parallelism int32
		refused     string
	}{
		"all":  {parallelism: 1},
		"2":    {parallelism: 2},
		"4":    {parallelism: 0}, // it is to be raised later
		"-1":   {4, `metadata.annotations[aipub.io/gang]: "-1" is no number of pods that start together; give a whole number from 2, or all`},
		"0":    {4, `"0" is no number`},
		"1":    {4, `"1" is no number`},
		"half": {4, `"half" is no number`},
		"2.5":  {4, `"2.5" is no number`},
		"5":    {4, `"5" is more than spec.parallelism, which is 4`},
		"3":    {-1, `"3" is more than spec.parallelism, which is 1`},
		"":     {4, "metadata.annotations[aipub.io/gang]: is empty"},
	} {
		t.Run(given, func(t *testing.T) {
			job := jobOf(tc.parallelism, map[string]string{v1alpha1.GangAnnotation: given})
			cron := &batchv1.CronJob{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "nightly"}}
			cron.Spec.JobTemplate.Annotations, cron.Spec.JobTemplate.Spec = job.Annotations, job.Spec
			identity := identityOf(t)
			_, created := review(t, Stamper(identity, Config{}), "alice", "batch/Job", job)
			_, changed := changeOf(t, NoteStamper(identity, Config{}), "alice", "batch/Job", jobOf(tc.parallelism, nil), job)
			_, nightly := review(t, Stamper(identity, Config{}), "alice", "batch/CronJob", cron)
			for what, refusal := range map[string]string{"created": created, "changed": changed, "by a CronJob": nightly} {
				if (refusal == "") != (tc.refused == "") {
					t.Errorf("%s: refusal %q, want %q", what, refusal, tc.refused)
				}
				requireSentence(t, refusal, tc.refused)
			}
			if tc.refused != "" && !strings.HasPrefix(nightly, "spec.jobTemplate.metadata") {
				t.Errorf("the field of a CronJob: %s", nightly)
			}
			// What is there already is left alone, and so is what a CronJob of before makes.
			if _, refusal := changeOf(t, NoteStamper(identity, Config{}), "alice", "batch/Job", job, job); refusal != "" {
				t.Errorf("unchanged: refused: %s", refusal)
			}
		})
	}
}

func TestRanksThatSortNowhere(t *testing.T) {
	for _, name := range []string{v1alpha1.RankAnnotation, v1alpha1.PromotedAnnotation} {
		for given, refused := range map[string]string{
			"m":                       "",
			"00001700000000-abc":      "",
			"":                        "is no place in the queue: the key is empty",
			"First!":                  `"First!" is no place in the queue`,
			"a-":                      "nothing would sort directly before it",
			strings.Repeat("a", 1025): "it may have 1024",
		} {
			identity := identityOf(t)
			job := jobOf(1, map[string]string{name: given})
			_, created := review(t, Stamper(identity, Config{}), "alice", "batch/Job", job)
			got, changed := changeOf(t, NoteStamper(identity, Config{}), "alice", "batch/Job", jobOf(1, nil), job)
			for what, refusal := range map[string]string{"created": created, "changed": changed} {
				if (refusal == "") != (refused == "") {
					t.Errorf("%s %.20s %s: refusal %q", name, given, what, refusal)
				}
				requireSentence(t, refusal, refused)
			}
			if refused == "" && got[v1alpha1.RankedByAnnotation] != "alice" {
				t.Errorf("%s: ranked by %q", name, got[v1alpha1.RankedByAnnotation])
			}
		}
	}
}

// A label without a value names no project. What asks for nothing is let through.
func TestAProjectWithoutAName(t *testing.T) {
	nameless := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "nameless", Labels: map[string]string{v1alpha1.ProjectLabel: ""}}}
	hook := Stamper(identityOf(t, nameless), Config{})
	ask := func(object client.Object, kind string) admission.Response {
		req := requestFor(t, mustJSON(t, object))
		req.Namespace, req.Kind = "nameless", metav1.GroupVersionKind{Group: "batch", Version: "v1", Kind: kind}
		return hook.Handle(t.Context(), req)
	}
	refused := ask(jobOf(1, nil), "Job")
	if refused.Allowed {
		t.Fatal("a Job is charged to no project")
	}
	requireSentence(t, refused.Result.Message, `"nameless" has the label aipub.io/project without a value`, "kubectl label --overwrite namespace nameless aipub.io/project=PROJECT")
	free := jobOf(1, nil)
	free.Spec.Template.Spec = podOf(container("app", "", "")).Spec
	if response := ask(free, "Job"); !response.Allowed || len(response.Patch) > 0 {
		t.Errorf("what asks for nothing: %+v", response)
	}
}

func TestAnEmptyMinimum(t *testing.T) {
	d := deploymentOf("Operation", 2, "")
	d.Annotations[v1alpha1.MinReplicasAnnotation] = ""
	req := requestFor(t, mustJSON(t, d))
	req.Kind = metav1.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}
	response := WorkloadValidator(setReader{}, &fullLedger{}, Config{}).Handle(t.Context(), req)
	requireSentence(t, response.Result.Message, "metadata.annotations[aipub.io/min-replicas]: is empty; give a whole number", "leave the annotation out")
}
