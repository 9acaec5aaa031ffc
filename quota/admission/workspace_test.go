// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/quota"
)

func workspaceOf(set string, count int32, paused bool) *v1alpha1.Workspace {
	return &v1alpha1.Workspace{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "lab", UID: "u1", Annotations: map[string]string{
			v1alpha1.UserAnnotation: "alice", v1alpha1.ProjectAnnotation: "vision", v1alpha1.TypeAnnotation: "Workspace",
		}},
		Spec: v1alpha1.WorkspaceSpec{Set: set, Count: count, Paused: paused},
	}
}

func TestWorkspacesAreJudged(t *testing.T) {
	for name, tc := range map[string]struct {
		now, before *v1alpha1.Workspace
		want        map[string]int64 // what the ledger is asked for
		whole       bool
		refused     string
	}{
		"a new one":                       {now: workspaceOf("small", 2, false), want: map[string]int64{"small": 2}},
		"of one, as the default is":       {now: workspaceOf("small", 0, false), want: map[string]int64{"small": 1}},
		"a new one, paused":               {now: workspaceOf("small", 2, true)},
		"a resume waits":                  {now: workspaceOf("small", 2, false), before: workspaceOf("small", 2, true)},
		"a larger one at a resume":        {now: workspaceOf("medium", 2, false), before: workspaceOf("small", 2, true)},
		"more while it runs":              {now: workspaceOf("small", 3, false), before: workspaceOf("small", 2, false), want: map[string]int64{"small": 3}, whole: true},
		"another set while it runs":       {now: workspaceOf("medium", 1, false), before: workspaceOf("small", 2, false), want: map[string]int64{"medium": 1}, whole: true},
		"fewer while it runs":             {now: workspaceOf("small", 1, false), before: workspaceOf("small", 2, false)},
		"a pause":                         {now: workspaceOf("small", 2, true), before: workspaceOf("small", 2, false)},
		"no such set":                     {now: workspaceOf("smal", 1, false), refused: `spec.set: "smal" is no set; give one of these, closest first: small`},
		"no such set, paused":             {now: workspaceOf("smal", 1, true), refused: "is no set"},
		"the name of the resource":        {now: workspaceOf("aipub.io/set-odd", 1, false), refused: "closest first: odd"},
		"no such set at a change":         {now: workspaceOf("huge", 1, false), before: workspaceOf("small", 1, false), refused: "is no set"},
		"a retired set":                   {now: workspaceOf("old", 1, false), refused: "defined by no PartitionPolicy any more"},
		"a set that was retired meantime": {now: workspaceOf("old", 1, true), before: workspaceOf("old", 1, false)},
	} {
		t.Run(name, func(t *testing.T) {
			ledger := &fullLedger{}
			req := requestFor(t, mustJSON(t, tc.now))
			req.Kind = metav1.GroupVersionKind{Group: "aipub.io", Version: "v1alpha1", Kind: "Workspace"}
			if tc.before != nil {
				req.Operation, req.OldObject.Raw = admissionv1.Update, mustJSON(t, tc.before)
			}
			response := WorkloadValidator(setReader{}, ledger, Config{}).Handle(t.Context(), req)
			if response.Allowed != (tc.refused == "" && tc.want == nil) {
				t.Errorf("allowed: %v (%v)", response.Allowed, response.Result)
			}
			if tc.refused != "" {
				requireSentence(t, response.Result.Message, tc.refused)
			}
			var asked []Ask
			if tc.want != nil {
				asked = []Ask{{
					Party:    quota.Party{Project: "vision", User: "alice", Type: v1alpha1.TypeWorkspace},
					Workload: quota.Workload{Group: "aipub.io", Kind: "Workspace", Namespace: "team", Name: "lab", UID: "u1"},
					Sets:     tc.want, Field: "spec.set", Count: 1, Whole: tc.whole,
				}}
			}
			if diff := cmp.Diff(asked, ledger.asks); diff != "" {
				t.Errorf("asks (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAWorkspaceIsOfItsType(t *testing.T) {
	hook := Stamper(identityOf(t), Config{})
	for given, refused := range map[string]string{"": "", "Workspace": "", "Job": `"Job" is not what a Workspace is`} {
		w := workspaceOf("small", 1, false)
		w.Annotations = nil
		if given != "" {
			w.Annotations = map[string]string{v1alpha1.TypeAnnotation: given}
		}
		got, refusal := review(t, hook, "alice", "aipub.io/Workspace", w)
		requireSentence(t, refusal, refused)
		if refused == "" && (got[v1alpha1.TypeAnnotation] != "Workspace" || got[v1alpha1.UserAnnotation] != "alice" || got[v1alpha1.ProjectAnnotation] != "vision") {
			t.Errorf("type %q: annotations %v (%s)", given, got, refusal)
		}
	}
}

// Pods that are to ask for more are judged before they are made.
func TestAWorkspacesTemplateThatGrows(t *testing.T) {
	with := func(replicas int32, limits ...string) func() *appsv1.Deployment {
		return func() *appsv1.Deployment {
			d := deploymentOf("Workspace", replicas, "")
			d.Spec.Template.Spec.Containers = nil
			for i, l := range limits {
				d.Spec.Template.Spec.Containers = append(d.Spec.Template.Spec.Containers, container(string(rune('a'+i)), l, ""))
			}
			return d
		}
	}
	for name, tc := range map[string]struct {
		before, after func() *appsv1.Deployment
		want          map[string]int64
		count         int64
	}{
		"a larger set":           {with(2, "set-small=1"), with(2, "set-medium=1"), map[string]int64{"medium": 1}, 2},
		"more of them":           {with(2, "set-small=1"), with(2, "set-small=3"), map[string]int64{"small": 3}, 2},
		"less":                   {with(2, "set-small=3"), with(2, "set-small=1"), nil, 0},
		"one container less":     {with(2, "set-small=1", "set-odd=1"), with(2, "set-small=1"), nil, 0},
		"the first set":          {with(1, "cpu=1"), with(1, "set-small=1"), map[string]int64{"small": 1}, 1},
		"more each, fewer":       {with(4, "set-small=1"), with(2, "set-small=2"), nil, 0},
		"another image, say":     {with(2, "set-small=1"), with(2, "set-small=1 cpu=4"), nil, 0},
		"while it has no pods":   {with(0, "set-small=1"), with(0, "set-medium=1"), nil, 0},
		"and more pods likewise": {with(1, "set-small=1"), with(3, "set-medium=1"), map[string]int64{"medium": 1}, 3},
	} {
		t.Run(name, func(t *testing.T) {
			ledger := &fullLedger{}
			req := requestFor(t, mustJSON(t, tc.after()))
			req.Kind = metav1.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}
			req.Operation, req.OldObject.Raw = admissionv1.Update, mustJSON(t, tc.before())
			WorkloadValidator(setReader{}, ledger, Config{}).Handle(t.Context(), req)
			if tc.want == nil {
				if len(ledger.asks) > 0 {
					t.Errorf("asked for %v", ledger.asks)
				}
				return
			}
			if len(ledger.asks) != 1 || !cmp.Equal(ledger.asks[0].Sets, tc.want) || ledger.asks[0].Count != tc.count || !ledger.asks[0].Whole {
				t.Errorf("asks %+v, want %d × %v in place of what it has", ledger.asks, tc.count, tc.want)
			}
		})
	}
}
