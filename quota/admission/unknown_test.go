// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"aipub.io/aipub/api/v1alpha1"
)

// broken is a cluster that answers nothing but what the cache holds.
type broken struct{ client.Reader }

func (broken) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return errors.New("connection refused")
}

func (broken) MayExtend(context.Context, authenticationv1.UserInfo, string) (bool, error) {
	return false, errors.New("connection refused")
}

func (broken) MayAssign(context.Context, authenticationv1.UserInfo, string, string) (bool, error) {
	return false, errors.New("connection refused")
}

// What cannot be found out is not decided, neither way; what the cache knows needs
// no cluster.
func TestIdentityWithoutACluster(t *testing.T) {
	known := made(&appsv1.ReplicaSet{}, "known", "alice", nil)
	unstamped := made(&appsv1.ReplicaSet{}, "unstamped", "", nil)
	identity := identityOf(t, known, unstamped)
	identity.live, identity.access = broken{}, broken{}
	for name, tc := range map[string]struct {
		user, given string
		owner       client.Object
		charged     string // empty: no verdict
	}{
		"a person":                       {user: "alice", charged: "alice"},
		"an owner that the cache knows":  {user: controllerUser + "replicaset-controller", owner: known, charged: "alice"},
		"an owner without stamp so far":  {user: controllerUser + "replicaset-controller", owner: unstamped},
		"an owner that it does not know": {user: controllerUser + "replicaset-controller", owner: made(&appsv1.ReplicaSet{}, "new", "", nil)},
		"somebody who names another":     {user: "bob", given: "alice"},
		"an account that may be bound":   {user: accountPrefix + "team:new"},
	} {
		t.Run(name, func(t *testing.T) {
			pod := podOf(container("app", "set-small=1", ""))
			if tc.given != "" {
				pod.Annotations = map[string]string{v1alpha1.UserAnnotation: tc.given}
			}
			if tc.owner != nil {
				pod.OwnerReferences = []metav1.OwnerReference{refTo(tc.owner)}
			}
			req := requestFor(t, mustJSON(t, pod))
			req.UserInfo.Username = tc.user
			response := PodMutator(setReader{}, identity, Config{}).Handle(t.Context(), req)
			if response.Allowed != (tc.charged != "") {
				t.Fatalf("allowed %v: %v", response.Allowed, response.Result)
			}
			if response.Allowed && !strings.Contains(string(response.Patch), `"`+tc.charged+`"`) {
				t.Errorf("patch %s charges somebody else than %s", response.Patch, tc.charged)
			}
			if !response.Allowed && response.Result.Code != http.StatusServiceUnavailable {
				t.Errorf("code %d, want 503: the request is fine, and comes again", response.Result.Code)
			}
		})
	}
}

func TestFurtherKinds(t *testing.T) {
	kinds, err := ParseKinds([]string{"Notebook.kubeflow.org=Workspace"})
	if err != nil {
		t.Fatal(err)
	}
	if got := kinds[schema.GroupKind{Group: "kubeflow.org", Kind: "Notebook"}]; got != v1alpha1.TypeWorkspace || len(kinds) != len(BuiltinKinds())+1 {
		t.Errorf("kinds %v", kinds)
	}
	for text, sentence := range map[string]string{
		"Notebook=Workspace":             `"Notebook=Workspace": give KIND.GROUP=TYPE`,
		"Notebook.kubeflow.org":          "give KIND.GROUP=TYPE",
		"Notebook.kubeflow.org=Notebook": "Workspace, Job and Operation",
		"Deployment.apps=Job":            "Deployment.apps is stamped already",
	} {
		if _, err := ParseKinds([]string{text}); err == nil || !strings.Contains(err.Error(), sentence) {
			t.Errorf("%s: %v, want %q", text, err, sentence)
		}
	}
}
