// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"aipub.io/aipub/api/v1alpha1"
)

func reclaimPolicy(name string, scope v1alpha1.ReclaimScope, hours, extension int32) client.Object {
	return &v1alpha1.ReclaimPolicy{ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: v1alpha1.ReclaimPolicySpec{Scope: scope, MaxOccupancyHours: hours, MaxExtensionHours: extension}}
}

func TestExtensions(t *testing.T) {
	everyone, vision := v1alpha1.ReclaimScope{Everyone: true}, v1alpha1.ReclaimScope{Project: "vision"}
	day := []client.Object{reclaimPolicy("everyone", everyone, 24, 24)}
	idle := reclaimPolicy("idle", vision, 0, 4).(*v1alpha1.ReclaimPolicy)
	idle.Spec.Idle = &v1alpha1.IdleRule{AfterMinutes: 60}
	for name, tc := range map[string]struct {
		policies    []client.Object
		typ         string
		was, wanted string
		who         string
		refused     string
	}{
		"within":                        {policies: day, wanted: "24h"},
		"minutes":                       {policies: day, wanted: "90m"},
		"nothing":                       {policies: day, wanted: "0s"},
		"too much":                      {policies: day, wanted: "24h1s", refused: `metadata.annotations[aipub.io/extend]: "24h1s" is more than the 24h that ReclaimPolicy everyone lets`},
		"too much in all":               {policies: day, was: "20h", wanted: "30h", refused: "more than the 24h"},
		"too much, with the verb":       {policies: day, wanted: "99h", who: "root"},
		"less than somebody gave":       {policies: day, was: "99h", wanted: "98h"},
		"the strictest of two":          {policies: append(day, reclaimPolicy("vision", vision, 8, 2)), wanted: "3h", refused: "2h that ReclaimPolicy vision"},
		"an idle rule limits":           {policies: append(day, idle), wanted: "5h", refused: "4h that ReclaimPolicy idle"},
		"one that limits nothing":       {policies: append(day, reclaimPolicy("none", everyone, 0, 1)), wanted: "5h"},
		"another project's":             {policies: append(day, reclaimPolicy("nlp", v1alpha1.ReclaimScope{Project: "nlp"}, 8, 1)), wanted: "5h"},
		"another's":                     {policies: append(day, reclaimPolicy("bob", v1alpha1.ReclaimScope{User: "bob"}, 8, 1)), wanted: "5h"},
		"one's own, in another project": {policies: append(day, reclaimPolicy("a", v1alpha1.ReclaimScope{User: "alice", Project: "nlp"}, 8, 1)), wanted: "5h"},
		"one's own":                     {policies: append(day, reclaimPolicy("a", v1alpha1.ReclaimScope{User: "alice"}, 8, 1)), wanted: "5h", refused: "1h that ReclaimPolicy a"},
		"none at all":                   {policies: []client.Object{reclaimPolicy("hard", everyone, 24, 0)}, wanted: "1h", refused: "ReclaimPolicy hard lets nobody extend"},
		"nothing limits it":             {wanted: "1h", refused: "nothing limits how long"},
		"no time":                       {policies: day, wanted: "a while", who: "root", refused: `"a while" is no time to add; give hours or minutes from 0 to 99999h, such as 8h`},
		"days":                          {policies: day, wanted: "1d", refused: "is no time to add"},
		"less than nothing":             {policies: day, wanted: "-1h", refused: "is no time to add"},
		"more than can be":              {policies: day, wanted: "9999999h", who: "root", refused: "is no time to add"},
		"more than a clock reads":       {policies: day, wanted: "100000h", who: "root", refused: "from 0 to 99999h"},
		"as much as a clock reads":      {policies: day, wanted: "99999h", who: "root"},
		"a Job":                         {policies: day, typ: "Job", wanted: "1h", who: "root", refused: "is time for a Workspace, and this is a Job: AIPub never pauses it"},
		"an Operation":                  {policies: day, typ: "Operation", wanted: "1h", refused: "this is an Operation"},
	} {
		t.Run(name, func(t *testing.T) {
			if tc.typ == "" {
				tc.typ = "Workspace"
			}
			if tc.who == "" {
				tc.who = "bob"
			}
			before := deploymentOf(tc.typ, 1, "")
			if tc.was != "" {
				before.Annotations[v1alpha1.ExtendAnnotation] = tc.was
			}
			after := before.DeepCopy()
			after.Annotations[v1alpha1.ExtendAnnotation] = tc.wanted
			got, refusal := changeOf(t, NoteStamper(identityOf(t, tc.policies...), Config{}), tc.who, "apps/Deployment", before, after)
			if (refusal == "") != (tc.refused == "") {
				t.Errorf("refusal %q, want %q", refusal, tc.refused)
			}
			requireSentence(t, refusal, tc.refused)
			if tc.refused == "" && got[v1alpha1.ExtendedByAnnotation] != tc.who {
				t.Errorf("extended by %q, want %q", got[v1alpha1.ExtendedByAnnotation], tc.who)
			}
		})
	}
}

func TestExtendedFromTheStart(t *testing.T) {
	identity := identityOf(t, reclaimPolicy("everyone", v1alpha1.ReclaimScope{Everyone: true}, 24, 8))
	for given, refused := range map[string]string{"8h": "", "9h": "more than the 8h"} {
		d := deploymentOf("Workspace", 1, "")
		d.Annotations = map[string]string{v1alpha1.TypeAnnotation: "Workspace", v1alpha1.ExtendAnnotation: given, v1alpha1.ExtendedByAnnotation: "root"}
		got, refusal := review(t, Stamper(identity, Config{}), "alice", "apps/Deployment", d)
		requireSentence(t, refusal, refused)
		if refused == "" && got[v1alpha1.ExtendedByAnnotation] != "alice" {
			t.Errorf("extended by %q (%s)", got[v1alpha1.ExtendedByAnnotation], refusal)
		}
	}
}

// What the controller writes is put back, whoever changes it; a resume is let through.
func TestWhatTheControllerWritesStays(t *testing.T) {
	written := map[string]string{v1alpha1.OccupancyAnnotation: "{}", v1alpha1.PausedAnnotation: `{"reason":"Idle"}`, v1alpha1.PausedReplicasAnnotation: "1"}
	none := map[string]string{v1alpha1.OccupancyAnnotation: "", v1alpha1.PausedAnnotation: "", v1alpha1.PausedReplicasAnnotation: ""}
	for name, tc := range map[string]struct {
		who                 string
		before, after, want map[string]string
		warns               bool
	}{
		"an earlier revision's": {"alice", written, map[string]string{v1alpha1.OccupancyAnnotation: "old", v1alpha1.PausedAnnotation: "old", v1alpha1.PausedReplicasAnnotation: "9"}, written, true},
		"made up":               {"alice", nil, written, none, true},
		"replaced by a bare manifest, which resumes": {"alice", written, nil, map[string]string{v1alpha1.OccupancyAnnotation: "{}", v1alpha1.PausedAnnotation: "", v1alpha1.PausedReplicasAnnotation: "1"}, false},
		"by the controller":                          {ControllerUser("aipub-system"), nil, written, written, false},
		"copied":                                     {controllerUser + "deployment-controller", nil, written, written, false},
	} {
		t.Run(name, func(t *testing.T) {
			before, after := deploymentOf("Workspace", 1, ""), deploymentOf("Workspace", 1, "")
			for key, value := range tc.before {
				before.Annotations[key] = value
			}
			for key, value := range tc.after {
				after.Annotations[key] = value
			}
			got, told := changeOf(t, Stamper(identityOf(t), Config{}), tc.who, "apps/Deployment", before, after)
			for key, value := range tc.want {
				if got[key] != value {
					t.Errorf("%s is %q, want %q", key, got[key], value)
				}
			}
			if (told != "") != tc.warns {
				t.Errorf("told %q", told)
			}
		})
	}
	for key := range written {
		d := deploymentOf("Workspace", 1, "")
		d.Annotations = map[string]string{key: "x"}
		_, refusal := review(t, Stamper(identityOf(t), Config{}), "alice", "apps/Deployment", d)
		requireSentence(t, refusal, "metadata.annotations["+key+"]", "is written by AIPub's controller; leave it out")
	}
}
