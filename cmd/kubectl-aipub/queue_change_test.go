// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	api "aipub.io/aipub/api/v1alpha1"
)

// apiServer is the part of an API server that a change of the order needs: lists,
// access reviews, and merge patches of Jobs with a resourceVersion as precondition.
type apiServer struct {
	*crowd
	t  *testing.T
	mu sync.Mutex
	// denied are verbs on resources that the caller lacks, as "promote priorityqueues".
	denied map[string]bool
	// meanwhile happens before a patch is carried out.
	meanwhile func(attempt int)
	refuse    int // status code that patches get; 0: they are carried out
	patches   []map[string]any
}

func (s *apiServer) start() string {
	s.t.Helper()
	answers := map[string]any{
		nodesPath: s.nodes, setsPath: s.sets, partitionsPath: s.partitions,
		"/api/v1/namespaces":                                     s.listOf("Namespace"),
		"/api/v1/pods":                                           s.listPods(),
		"/apis/aipub.io/v1alpha1/priorityqueues":                 s.listQueues(),
		"/apis/aipub.io/v1alpha1/resourcesetquotas":              s.listQuotas(),
		"/apis/apps/v1/deployments":                              map[string]any{"items": []any{}},
		"/apis/apps/v1/statefulsets":                             map[string]any{"items": []any{}},
		"/apis/autoscaling/v2/horizontalpodautoscalers":          map[string]any{"items": []any{}},
		"/apis/batch/v1/jobs":                                    http.HandlerFunc(s.listJobs),
		"/apis/authorization.k8s.io/v1/selfsubjectaccessreviews": http.HandlerFunc(s.review),
	}
	for _, j := range s.jobs {
		answers["/apis/batch/v1/namespaces/"+j.Namespace+"/jobs/"+j.Name] = http.HandlerFunc(s.patch)
	}
	return server(s.t, answers)
}

func (s *apiServer) listOf(kind string) any {
	var items []any
	for _, o := range s.more {
		if m, ok := o.(interface{ GetObjectKind() schema.ObjectKind }); ok && m.GetObjectKind().GroupVersionKind().Kind == kind {
			items = append(items, o)
		}
	}
	return map[string]any{"items": items}
}

func (s *apiServer) listPods() any   { return map[string]any{"items": s.pods} }
func (s *apiServer) listQueues() any { return map[string]any{"items": s.queues} }
func (s *apiServer) listQuotas() any { return map[string]any{"items": s.quotas} }

func (s *apiServer) listJobs(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !strings.Contains(r.Header.Get("Accept"), "PartialObjectMetadata") {
		_ = json.NewEncoder(w).Encode(map[string]any{"items": s.jobs})
		return
	}
	list := metav1.PartialObjectMetadataList{TypeMeta: typeMeta("meta.k8s.io/v1", "PartialObjectMetadataList")}
	for _, j := range s.jobs {
		list.Items = append(list.Items, metav1.PartialObjectMetadata{TypeMeta: typeMeta("meta.k8s.io/v1", "PartialObjectMetadata"), ObjectMeta: j.ObjectMeta})
	}
	_ = json.NewEncoder(w).Encode(list)
}

func (s *apiServer) review(w http.ResponseWriter, r *http.Request) {
	var review authorizationv1.SelfSubjectAccessReview
	if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
		s.t.Error(err)
	}
	a := review.Spec.ResourceAttributes
	review.Status.Allowed = !s.denied[a.Verb+" "+a.Resource]
	_ = json.NewEncoder(w).Encode(review)
}

func (s *apiServer) patch(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.Method != http.MethodPatch || r.Header.Get("Content-Type") != "application/merge-patch+json" {
		s.t.Errorf("%s %s with %s", r.Method, r.URL, r.Header.Get("Content-Type"))
	}
	raw, _ := io.ReadAll(r.Body)
	var patch struct {
		Metadata struct {
			ResourceVersion string             `json:"resourceVersion"`
			Annotations     map[string]*string `json:"annotations"`
		} `json:"metadata"`
	}
	if err := json.Unmarshal(raw, &patch); err != nil {
		s.t.Error(err)
	}
	var all map[string]any
	_ = json.Unmarshal(raw, &all)
	s.patches = append(s.patches, all)
	if s.meanwhile != nil {
		s.meanwhile(len(s.patches))
	}
	for _, j := range s.jobs {
		if !strings.HasSuffix(r.URL.Path, "/"+j.Name) {
			continue
		}
		switch {
		case s.refuse != 0:
			fail(w, s.refuse, `jobs.batch "`+j.Name+`" is forbidden: ValidatingAdmissionPolicy 'aipub-order' denied request`)
			return
		case patch.Metadata.ResourceVersion != j.ResourceVersion:
			fail(w, http.StatusConflict, "the object has been modified")
			return
		}
		for key, value := range patch.Metadata.Annotations {
			if value == nil {
				delete(j.Annotations, key)
			} else {
				j.Annotations[key] = *value
			}
		}
		j.ResourceVersion += "1"
		_ = json.NewEncoder(w).Encode(metav1.PartialObjectMetadata{TypeMeta: typeMeta("meta.k8s.io/v1", "PartialObjectMetadata"), ObjectMeta: j.ObjectMeta})
	}
}

func fail(w http.ResponseWriter, code int, message string) {
	reason := map[int]metav1.StatusReason{http.StatusConflict: metav1.StatusReasonConflict, http.StatusForbidden: metav1.StatusReasonForbidden, http.StatusNotFound: metav1.StatusReasonNotFound}[code]
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(metav1.Status{TypeMeta: typeMeta("v1", "Status"), Status: metav1.StatusFailure, Code: int32(code), Reason: reason, Message: message})
}

// annotation of the Job named.
func (s *apiServer) annotation(job, key string) string {
	for _, j := range s.jobs {
		if j.Name == job {
			return j.Annotations[key]
		}
	}
	return ""
}

func (s *apiServer) run(args string) string {
	s.t.Helper()
	return online(s.t, s.start(), strings.Fields(args)...)
}

func serveCrowd(t *testing.T) *apiServer {
	t.Helper()
	return &apiServer{crowd: crowded(t), t: t, denied: map[string]bool{}}
}

func wantAll(t *testing.T, got string, wants ...string) {
	t.Helper()
	for _, want := range wants {
		if !strings.Contains(got, want) {
			t.Errorf("want %q in:\n%s", want, got)
		}
	}
}

func TestMoveWritesOneKeyIfNobodyElseChangedTheWorkload(t *testing.T) {
	s := serveCrowd(t)
	got := s.run("queue move vision/job/train-c --before vision/job/train-b")
	wantAll(t, got, "vision/job/train-c: place 3 -> 2 of project vision\n", "vision/job/train-b   vision    bob    3       2\n", "\ndone\n")
	if len(s.patches) != 1 || fmt.Sprint(s.patches[0]["metadata"].(map[string]any)["resourceVersion"]) != "7" {
		t.Fatalf("patches: %v", s.patches)
	}
	if s.annotation("train-c", api.RankAnnotation) == "" || s.annotation("train-c", api.PromotedAnnotation) != "" {
		t.Error("the key was not written")
	}
	wantAll(t, s.run("queue vision"), "2       vision    vision/job/train-c")
}

func TestADryRunWritesNothing(t *testing.T) {
	s := serveCrowd(t)
	wantAll(t, s.run("queue move vision/job/train-c --to 1 --dry-run"), "place 3 -> 1", "dry run: nothing was changed")
	wantAll(t, s.run("queue promote vision/job/train-c --dry-run"), "place 3 -> 1 of all projects", "dry run: nothing was changed")
	if len(s.patches) > 0 {
		t.Errorf("patches: %v", s.patches)
	}
}

// TestAConflictIsWorkedOutAnew has somebody else move a workload to the front at the
// moment of the write: the place that is written is one of the new order.
func TestAConflictIsWorkedOutAnew(t *testing.T) {
	s := serveCrowd(t)
	s.meanwhile = func(attempt int) {
		if attempt > 1 {
			return
		}
		for _, j := range s.jobs {
			j.ResourceVersion += "0"
			if j.Name == "train-b" {
				j.Annotations[api.RankAnnotation] = "00000000001"
			}
		}
	}
	got := s.run("queue move vision/job/train-c --to 1")
	wantAll(t, got, "note: vision/job/train-c was changed by somebody else meanwhile; the order is read anew", "vision/job/train-b   vision    bob    2       1\n", "\ndone\n")
	if rank := s.annotation("train-c", api.RankAnnotation); rank == "" || rank >= "00000000001" {
		t.Errorf("rank is %q", rank)
	}
	if len(s.patches) != 2 {
		t.Errorf("%d patches", len(s.patches))
	}
}

func TestConflictsWithoutEnd(t *testing.T) {
	s := serveCrowd(t)
	s.refuse = http.StatusConflict
	wantAll(t, s.run("queue move vision/job/train-c --to 1"), "was changed by somebody else 4 times while its place was worked out; nothing was changed, try again", "exit status 1")
	if len(s.patches) != attempts {
		t.Errorf("%d patches, want %d", len(s.patches), attempts)
	}
}

func TestPromoteWritesAcrossProjectsOrWithinOne(t *testing.T) {
	s := serveCrowd(t)
	wantAll(t, s.run("queue promote vision/job/train-c"), "place 3 -> 1 of all projects", "\ndone\n")
	if s.annotation("train-c", api.PromotedAnnotation) == "" {
		t.Error("it is not promoted")
	}
	wantAll(t, s.run("queue promote vision/job/train-c"), "place 1 of all projects, as before", "nothing was changed")
	// A place among those that are not promoted takes the promotion away.
	wantAll(t, s.run("queue move vision/job/train-c --to 2"), "place 1 -> 2 of project vision", "\ndone\n")
	if s.annotation("train-c", api.PromotedAnnotation) != "" {
		t.Error("it is promoted still")
	}

	s = serveCrowd(t)
	s.denied["promote priorityqueues"] = true
	wantAll(t, s.run("queue promote nlp/job/embed"), "nlp/job/embed: place 2 -> 1 of project nlp", "\ndone\n",
		"note: you may not promote across projects (promote on all priorityqueues.aipub.io), so it goes to the front of its project only")
	if s.annotation("embed", api.PromotedAnnotation) != "" || s.annotation("embed", api.RankAnnotation) == "" {
		t.Error("it was promoted, or not moved")
	}
}

func TestWhoMayNotIsToldWhichVerbIsMissing(t *testing.T) {
	for name, tc := range map[string]struct {
		denied []string
		args   string
		want   []string
	}{
		"reorder": {[]string{"reorder priorityqueues"}, "queue move vision/job/train-c --to 1", []string{
			"place 3 -> 1", "nothing was changed",
			"error: you are not allowed to reorder on priorityqueues.aipub.io vision: ask an administrator for that verb, or check with kubectl auth can-i reorder priorityqueues.aipub.io/vision\n",
		}},
		"patch": {[]string{"patch jobs"}, "queue move vision/job/train-c --to 1", []string{
			"you are not allowed to patch on jobs.batch train-c in namespace vision", "kubectl auth can-i patch jobs.batch/train-c -n vision",
		}},
		"promote and reorder": {[]string{"promote priorityqueues", "reorder priorityqueues"}, "queue promote vision/job/train-c", []string{
			"you are not allowed to promote on priorityqueues.aipub.io",
		}},
		"dry run": {[]string{"reorder priorityqueues"}, "queue move vision/job/train-c --to 1 --dry-run", []string{
			"dry run: nothing was changed", "you are not allowed to reorder on priorityqueues.aipub.io vision",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s := serveCrowd(t)
			for _, d := range tc.denied {
				s.denied[d] = true
			}
			wantAll(t, s.run(tc.args), append(tc.want, "exit status 1")...)
			if len(s.patches) > 0 {
				t.Errorf("patches: %v", s.patches)
			}
		})
	}
}

func TestWhatTheAPIServerRefusesIsSaid(t *testing.T) {
	s := serveCrowd(t)
	s.refuse = http.StatusForbidden
	wantAll(t, s.run("queue move vision/job/train-c --to 1"),
		"error: the API server does not let you change the place of vision/job/train-c: ", "ValidatingAdmissionPolicy 'aipub-order' denied request", "exit status 1")
	s = serveCrowd(t)
	s.refuse = http.StatusNotFound
	wantAll(t, s.run("queue move vision/job/train-c --to 1"), "error: vision/job/train-c is gone; nothing was changed", "exit status 1")
}

func TestWhoMayNotListPodsSeesWhatTheControllerWrote(t *testing.T) {
	c := crowded(t)
	c.queues[0].Status = api.PriorityQueueStatus{Workloads: 61, Pods: 70, Front: []api.QueueEntry{{
		Namespace: "vision", Kind: "Job", Name: "train-a", User: "ann", Type: api.TypeJob, Pods: 2, Sets: map[string]int32{"small": 1},
		Since: minutesAgo(50), Promoted: true, Reason: api.ReasonProjectQuotaReached, Message: "project vision has 2 of 2",
	}}}
	url := server(t, map[string]any{"/api/v1/pods": http.StatusForbidden, "/apis/aipub.io/v1alpha1/priorityqueues": map[string]any{"items": c.queues}})
	got := online(t, url, "queue", "vision")
	wantAll(t, got, "1       vision    vision/job/train-a   ann    Job    2      small   yes        50m     ProjectQuotaReached\n",
		"note: you are not allowed to list pods", "so this is what the controller last wrote, the first 50 of each project\n", "note: project vision: 60 workloads more wait behind these\n")
	wantAll(t, online(t, url, "queue", "visoin"), `project "visoin" has no PriorityQueue; did you mean "vision"?`, "exit status 1")
	wantAll(t, online(t, url, "queue", "move", "vision/job/train-a", "--to", "1"), "error: you are not allowed to list pods", "exit status 1")
}

func TestWhyWithoutRightsIsWhatThePodSays(t *testing.T) {
	c := crowded(t)
	url := server(t, map[string]any{"/api/v1/pods": http.StatusForbidden, "/api/v1/namespaces/vision/pods/train-a-0": c.podNamed("train-a-0")})
	wantAll(t, online(t, url, "why", "vision/train-a-0"), "quota       Waits   ProjectQuotaReached   20m     project vision has 2 of 2 sets small in use\n",
		"note: its place in the queue is not known, and the reason is what the controller wrote last: you are not allowed to list pods")
	wantAll(t, online(t, url, "why", "vision/other"), `there is no pod "other" in namespace vision`, "exit status 1")
}
