// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/quota"
)

// fullLedger refuses everything and remembers what it was asked.
type fullLedger struct{ asks []Ask }

func (f *fullLedger) Fits(_ context.Context, ask Ask) Refusals {
	f.asks = append(f.asks, ask)
	return Refusals{{Reason: "UserQuotaReached", Field: "spec", Detail: "no more"}}
}

// deployment of a type with replicas, whose pods hold 2 × small.
func deploymentOf(typ string, replicas int32, minimum string) *appsv1.Deployment {
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "web", UID: "u1", Annotations: map[string]string{
		v1alpha1.UserAnnotation: "alice", v1alpha1.ProjectAnnotation: "vision", v1alpha1.TypeAnnotation: typ,
	}}}
	if minimum != "" {
		d.Annotations[v1alpha1.MinReplicasAnnotation] = minimum
	}
	d.Spec.Replicas = &replicas
	d.Spec.Template.Spec = podOf(container("app", "set-small=1", ""), container("side", "set-small=1", "")).Spec
	return d
}

func TestWhatTheLedgerIsAsked(t *testing.T) {
	for name, tc := range map[string]struct {
		now, before *appsv1.Deployment
		want        int64
		refused     string
	}{
		"all of a Workspace":               {now: deploymentOf("Workspace", 3, ""), want: 3},
		"a paused Workspace":               {now: deploymentOf("Workspace", 0, ""), want: 0},
		"what a Workspace grows by":        {now: deploymentOf("Workspace", 5, ""), before: deploymentOf("Workspace", 3, ""), want: 2},
		"a Workspace that shrinks":         {now: deploymentOf("Workspace", 1, ""), before: deploymentOf("Workspace", 3, ""), want: 0},
		"one of an Operation":              {now: deploymentOf("Operation", 5, ""), want: 1},
		"the minimum of an Operation":      {now: deploymentOf("Operation", 5, "4"), want: 4},
		"an Operation that grows above it": {now: deploymentOf("Operation", 9, "4"), before: deploymentOf("Operation", 5, "4"), want: 0},
		"a minimum that is raised":         {now: deploymentOf("Operation", 5, "5"), before: deploymentOf("Operation", 5, "4"), want: 1},
		"a minimum that was nonsense":      {now: deploymentOf("Operation", 5, "5"), before: deploymentOf("Operation", 5, "x"), want: 5},
		"a Job waits":                      {now: deploymentOf("Job", 5, ""), want: 0},
		"no number":                        {now: deploymentOf("Operation", 5, "half"), refused: `metadata.annotations[aipub.io/min-replicas]: "half" is no number of replicas`},
		"an empty number":                  {now: deploymentOf("Operation", 5, " "), refused: "is no number of replicas"},
		"more than there can be":           {now: deploymentOf("Operation", 5, "99999999999999999999"), refused: "give a whole number from 0 to 1000000"},
	} {
		t.Run(name, func(t *testing.T) {
			ledger := &fullLedger{}
			req := requestFor(t, mustJSON(t, tc.now))
			req.Kind = metav1.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}
			if tc.before != nil {
				req.Operation, req.OldObject.Raw = admissionv1.Update, mustJSON(t, tc.before)
			}
			response := WorkloadValidator(setReader{}, ledger, Config{}).Handle(t.Context(), req)
			checkAsked(t, ledger, response, tc.now, tc.want, "spec.template.spec.containers[0].resources.limits[aipub.io/set-small]", tc.refused)
		})
	}
}

func checkAsked(t *testing.T, ledger *fullLedger, response admission.Response, d *appsv1.Deployment, want int64, field, refused string) {
	t.Helper()
	if refused != "" {
		requireSentence(t, response.Result.Message, refused)
		want = 0
	}
	if response.Allowed != (want == 0 && refused == "") {
		t.Errorf("allowed: %v (%v)", response.Allowed, response.Result)
	}
	var asked []Ask
	if want > 0 {
		asked = []Ask{{
			Party:    quota.Party{Project: "vision", User: "alice", Type: v1alpha1.WorkloadType(d.Annotations[v1alpha1.TypeAnnotation])},
			Workload: quota.Workload{Group: "apps", Kind: "Deployment", Namespace: "team", Name: "web", UID: "u1"},
			Sets:     map[string]int64{"small": 2}, Count: want, Field: field,
		}}
	}
	if diff := cmp.Diff(asked, ledger.asks); diff != "" {
		t.Errorf("asks (-want +got):\n%s", diff)
	}
}

// Whoever scales: the owner's quota is asked.
func TestScalingAsksTheOwnersQuota(t *testing.T) {
	for name, tc := range map[string]struct {
		stored   *appsv1.Deployment
		from, to int32
		want     int64
	}{
		"a Workspace up":              {deploymentOf("Workspace", 1, ""), 1, 4, 3},
		"a Workspace down":            {deploymentOf("Workspace", 4, ""), 4, 1, 0},
		"an Operation up":             {deploymentOf("Operation", 1, ""), 1, 4, 0},
		"an Operation that was off":   {deploymentOf("Operation", 0, ""), 0, 4, 1},
		"a Workspace that is resumed": {deploymentOf("Workspace", 0, ""), 0, 1, 1},
	} {
		t.Run(name, func(t *testing.T) {
			ledger := &fullLedger{}
			scale := func(replicas int32) []byte {
				return mustJSON(t, &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: replicas}})
			}
			req := requestFor(t, scale(tc.to))
			req.Operation, req.OldObject.Raw, req.Name, req.UserInfo.Username = admissionv1.Update, scale(tc.from), "web", "bob"
			req.Resource, req.SubResource = metav1.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}, "scale"
			response := ScaleValidator(identityOf(t, tc.stored).live, ledger, Config{}).Handle(t.Context(), req)
			checkAsked(t, ledger, response, tc.stored, tc.want, "spec.replicas", "")
		})
	}
}

func TestOnlyAPersonsOwnPodsAreAsked(t *testing.T) {
	isController := true
	for name, tc := range map[string]struct {
		typ   string
		owned bool
		want  int
	}{
		"a Workspace pod":             {"Workspace", false, 1},
		"a Job pod waits":             {"Job", false, 0},
		"one that a controller makes": {"Workspace", true, 0},
	} {
		pod := podOf(container("app", "set-small=1 cpu=4 memory=16Gi", ""))
		pod.GenerateName = "note-"
		pod.Annotations = map[string]string{v1alpha1.TypeAnnotation: tc.typ}
		if tc.owned {
			pod.OwnerReferences = []metav1.OwnerReference{{Kind: "ReplicaSet", Name: "x", UID: "y", Controller: &isController}}
		}
		ledger := &fullLedger{}
		req := requestFor(t, mustJSON(t, pod))
		dryRun := true
		req.DryRun = &dryRun
		response := PodValidator(setReader{}, ledger, Config{}).Handle(t.Context(), req)
		if len(ledger.asks) != tc.want || response.Allowed != (tc.want == 0) {
			t.Errorf("%s: %d asks, allowed %v: %v", name, len(ledger.asks), response.Allowed, response.Result)
		}
	}
}

// Sidecars run beside the containers, init containers before them.
func TestSetsOfAPod(t *testing.T) {
	pod := podOf(container("a", "set-small=1", ""), container("b", "set-small=2", ""), container("c", "", "set-odd=1"))
	sidecar := container("s", "set-small=1", "")
	sidecar.RestartPolicy = &always
	pod.Spec.InitContainers = append(pod.Spec.InitContainers, container("i", "set-small=3", ""), container("j", "set-odd=5", ""), sidecar)
	want := map[string]int64{"small": 4, "odd": 5}
	if diff := cmp.Diff(want, SetsOf(&pod.Spec)); diff != "" {
		t.Errorf("sets (-want +got):\n%s", diff)
	}
	if first := firstSet(&pod.Spec); first != "small" {
		t.Errorf("the first set is %q", first)
	}
}
