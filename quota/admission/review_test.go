// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"aipub.io/aipub/api/v1alpha1"
)

// setReader lists the test sets, or fails.
type setReader struct {
	client.Reader
	err error
}

func (r setReader) List(_ context.Context, into client.ObjectList, _ ...client.ListOption) error {
	for name, spec := range testSets() {
		list := into.(*v1alpha1.ResourceSetList)
		list.Items = append(list.Items, v1alpha1.ResourceSet{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: spec})
	}
	return r.err
}

// tally remembers what was decided.
type tally []string

func (t *tally) Decided(kind, decision string, reason Reason, _ time.Duration) {
	*t = append(*t, kind+" "+decision+" "+string(reason))
}

func requestFor(t *testing.T, raw []byte) admission.Request {
	t.Helper()
	return admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{
		UID: "u", Operation: admissionv1.Create, Namespace: "team", Name: "p", UserInfo: authenticationv1.UserInfo{Username: "alice"}, Kind: metav1.GroupVersionKind{Version: "v1", Kind: "Pod"},
		Object: runtime.RawExtension{Raw: raw},
	}}
}

func mustJSON(t *testing.T, v any) []byte {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// mustPatch applies a response to the object that it answers.
func mustPatch(t *testing.T, raw []byte, response admission.Response) []byte {
	t.Helper()
	if len(response.Patch) == 0 {
		return raw
	}
	patch, err := jsonpatch.DecodePatch(response.Patch)
	if err != nil {
		t.Fatal(err)
	}
	out, err := patch.Apply(raw)
	if err != nil {
		t.Fatalf("apply %s: %v", response.Patch, err)
	}
	return out
}

func TestMutationIsAcceptedByValidationAndRepeatsToNothing(t *testing.T) {
	named := podOf(container("app", "set-small=1", ""))
	named.Annotations = map[string]string{"a/b~c": "kept", v1alpha1.SetAnnotation: "forged=medium"}
	generated := podOf(container("app", "set-small=1", ""))
	generated.GenerateName = "worker-"
	withInit := podOf(container("app", "", "set-small=2"))
	withInit.Spec.InitContainers = []corev1.Container{container("prepare", "set-small=1", "")}
	for name, pod := range map[string]*corev1.Pod{"named": named, "generated": generated, "init, request only": withInit} {
		t.Run(name, func(t *testing.T) {
			var decided tally
			mutate := PodMutator(setReader{}, identityOf(t), Config{Recorder: &decided})
			raw := mustJSON(t, pod)
			mutated := mustPatch(t, raw, mutate.Handle(t.Context(), requestFor(t, raw)))
			again := mutate.Handle(t.Context(), requestFor(t, mutated))
			if !again.Allowed || len(again.Patch) > 0 {
				t.Errorf("second mutation: allowed %v, patch %s; want no change", again.Allowed, again.Patch)
			}
			judged := PodValidator(setReader{}, nil, Config{Recorder: &decided}).Handle(t.Context(), requestFor(t, mutated))
			if !judged.Allowed {
				t.Errorf("validation refuses a mutated pod: %s", judged.Result.Message)
			}
			want := tally{"mutate-pods allowed Expanded", "mutate-pods allowed Unchanged", "validate-pods allowed Unchanged"}
			if diff := cmp.Diff(want, decided); diff != "" {
				t.Errorf("decisions (-want +got):\n%s", diff)
			}
			var got corev1.Pod
			if err := json.Unmarshal(mutated, &got); err != nil {
				t.Fatal(err)
			}
			if got.Annotations[v1alpha1.SetAnnotation] == "forged=medium" || got.Annotations["a/b~c"] != pod.Annotations["a/b~c"] {
				t.Errorf("annotations %v", got.Annotations)
			}
		})
	}
}

// A newer API server sends fields that this version's types do not have.
func TestMutationKeepsUnknownFields(t *testing.T) {
	raw := []byte(`{"metadata":{"name":"p"},"spec":{"fromTheFuture":{"a":1},"containers":[` +
		`{"name":"app","later":true,"resources":{"claims2":[1],"limits":{"aipub.io/set-small":"1"}}}]}}`)
	response := PodMutator(setReader{}, identityOf(t), Config{}).Handle(t.Context(), requestFor(t, raw))
	var got map[string]any
	if err := json.Unmarshal(mustPatch(t, raw, response), &got); err != nil {
		t.Fatal(err)
	}
	spec := got["spec"].(map[string]any)
	app := spec["containers"].([]any)[0].(map[string]any)
	if spec["fromTheFuture"] == nil || app["later"] != true || app["resources"].(map[string]any)["claims2"] == nil {
		t.Errorf("fields were lost: %v", got)
	}
}

func TestRefusalNamesReasonAndField(t *testing.T) {
	var decided tally
	raw := mustJSON(t, podOf(container("app", "set-smal=1", "")))
	response := PodMutator(setReader{}, identityOf(t), Config{Recorder: &decided}).Handle(t.Context(), requestFor(t, raw))
	if response.Allowed || response.Result.Reason != metav1.StatusReasonInvalid || response.Result.Details.Kind != "Pod" {
		t.Errorf("answer %+v, want status Invalid of a Pod", response.Result)
	}
	cause := response.Result.Details.Causes[0]
	if cause.Type != metav1.CauseType(ReasonUnknownSet) || cause.Field != "spec.containers[0].resources.limits[aipub.io/set-smal]" {
		t.Errorf("cause %+v", cause)
	}
	if diff := cmp.Diff(tally{"mutate-pods refused UnknownSet"}, decided); diff != "" {
		t.Errorf("decisions (-want +got):\n%s", diff)
	}
}

func TestNoVerdictWithoutFacts(t *testing.T) {
	var decided tally
	config := Config{Recorder: &decided}
	raw := mustJSON(t, podOf(container("app", "set-small=1", "")))
	for name, response := range map[string]admission.Response{
		"sets unknown": PodMutator(setReader{err: errors.New("no cache")}, identityOf(t), config).Handle(t.Context(), requestFor(t, raw)),
		"not a pod":    PodMutator(setReader{}, identityOf(t), config).Handle(t.Context(), requestFor(t, []byte("[]"))),
	} {
		if response.Allowed || response.Result.Code < 400 {
			t.Errorf("%s: answer %+v, want an error", name, response.Result)
		}
	}
	if len(decided) != 2 {
		t.Errorf("decisions %v, want 2 failures", decided)
	}
}

func TestPolicyValidatorLetsMetadataPass(t *testing.T) {
	unreadable := ClusterReaderFunc(func(context.Context) (Cluster, error) { return Cluster{}, errors.New("no cache") })
	before := policyOf("p", noon, wholeSet("huge", 16))
	after := before.DeepCopy()
	after.Labels = map[string]string{"team": "platform"}
	req := requestFor(t, mustJSON(t, after))
	req.Operation, req.OldObject.Raw = admissionv1.Update, mustJSON(t, before)
	if response := PolicyValidator(unreadable, Config{}).Handle(t.Context(), req); !response.Allowed {
		t.Errorf("a label is refused: %s", response.Result.Message)
	}
	after.Spec.Sets[0].Name = "larger"
	req.Object.Raw = mustJSON(t, after)
	if response := PolicyValidator(unreadable, Config{}).Handle(t.Context(), req); response.Allowed {
		t.Error("a new spec is accepted although nothing is known of the cluster")
	}
}
