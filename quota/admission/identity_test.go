// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"aipub.io/aipub/api/v1alpha1"
)

// assigners may act for everybody.
type assigners []string

func (a assigners) MayAssign(_ context.Context, who authenticationv1.UserInfo, _, _ string) (bool, error) {
	for _, name := range a {
		if name == who.Username {
			return true, nil
		}
	}
	return false, nil
}

func (a assigners) MayExtend(_ context.Context, who authenticationv1.UserInfo, _ string) (bool, error) {
	return a.MayAssign(context.Background(), who, "", "")
}

// identityOf knows a namespace team of project vision and what else exists. root
// may act for others.
func identityOf(t *testing.T, objects ...client.Object) *Identity {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	team := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "team", Labels: map[string]string{v1alpha1.ProjectLabel: "vision"}}}
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(append(objects, team)...).Build()
	return NewIdentity(c, c, assigners{"root"}, IdentityConfig{
		Trusted: DefaultTrusted("aipub-system"), Controller: ControllerUser("aipub-system"), Kinds: BuiltinKinds(),
	})
}

const controllerUser = "system:serviceaccount:kube-system:"

// made is an object of a kind in namespace team, with uid KIND-NAME, and stamped
// for a user unless that is empty.
func made(object client.Object, name, user string, owner client.Object) client.Object {
	object.SetNamespace("team")
	object.SetName(name)
	object.SetUID(types.UID(strings.ToLower(kindName(object)) + "-" + name))
	if user != "" {
		object.SetAnnotations(map[string]string{v1alpha1.UserAnnotation: user})
	}
	if owner != nil {
		object.SetOwnerReferences([]metav1.OwnerReference{refTo(owner)})
	}
	return object
}

func kindName(object client.Object) string {
	switch object.(type) {
	case *appsv1.Deployment:
		return "Deployment"
	case *appsv1.ReplicaSet:
		return "ReplicaSet"
	case *appsv1.StatefulSet:
		return "StatefulSet"
	case *corev1.ServiceAccount:
		return "ServiceAccount"
	}
	return "Pod"
}

func refTo(owner client.Object) metav1.OwnerReference {
	version, isController := "apps/v1", true
	if kindName(owner) == "Pod" {
		version = "v1"
	}
	return metav1.OwnerReference{APIVersion: version, Kind: kindName(owner), Name: owner.GetName(), UID: owner.GetUID(), Controller: &isController}
}

// review sends an object to a webhook as a user and returns what became of it.
func review(t *testing.T, hook *admission.Webhook, user, kind string, object client.Object) (map[string]string, string) {
	t.Helper()
	raw := mustJSON(t, object)
	req := requestFor(t, raw)
	req.UserInfo.Username = user
	group, name, _ := strings.Cut(kind, "/")
	req.Kind = metav1.GroupVersionKind{Group: group, Version: "v1", Kind: name}
	response := hook.Handle(t.Context(), req)
	if !response.Allowed {
		return nil, response.Result.Message
	}
	var after struct {
		Metadata metav1.ObjectMeta `json:"metadata"`
	}
	if err := json.Unmarshal(mustPatch(t, raw, response), &after); err != nil {
		t.Fatal(err)
	}
	return after.Metadata.Annotations, ""
}

func TestPodsAreChargedToWhoIsBehindThem(t *testing.T) {
	deployment := made(&appsv1.Deployment{}, "web", "alice", nil)
	replicaSet := made(&appsv1.ReplicaSet{}, "web-1", "alice", deployment)
	bobs := made(&appsv1.ReplicaSet{}, "fake", "bob", deployment)
	unstamped := made(&appsv1.ReplicaSet{}, "old", "", nil)
	bound := made(&corev1.ServiceAccount{}, "ci", "carol", nil)
	unbound := made(&corev1.ServiceAccount{}, "default", "", nil)
	shared := made(&corev1.ServiceAccount{}, "batch", "project:nlp", nil)
	identity := identityOf(t, deployment, replicaSet, bobs, unstamped, bound, unbound, shared)
	wrongUID := made(&appsv1.ReplicaSet{}, "web-1", "", nil)
	wrongUID.SetUID("another")
	missing := made(&appsv1.ReplicaSet{}, "gone", "", nil)

	for name, tc := range map[string]struct {
		user, given string
		owner       client.Object
		want        string // USER WORKLOAD, or a part of the refusal after "!"
	}{
		"a person":                             {user: "alice", want: "alice "},
		"an OIDC name":                         {user: "https://id.example.com/realms/x#alice@example.com", want: "https://id.example.com/realms/x#alice@example.com "},
		"a person who names themselves":        {user: "alice", given: "alice", want: "alice "},
		"a person who names another":           {user: "bob", given: "alice", want: "!\"alice\" would be charged, and the request is from bob"},
		"an assigner":                          {user: "root", given: "alice", want: "alice "},
		"an assigner for the project":          {user: "root", given: "project:vision", want: "project:vision "},
		"an assigner for another project":      {user: "root", given: "project:nlp", want: "!names another project"},
		"an assigner for a part of the system": {user: "root", given: "system:node:n1", want: "!is no person"},
		"a person with another's owner":        {user: "bob", owner: replicaSet, want: "bob "},
		"a controller":                         {user: controllerUser + "replicaset-controller", owner: replicaSet, want: "alice apps/Deployment/web/deployment-web"},
		"a controller, forged in the template": {user: controllerUser + "replicaset-controller", given: "bob", owner: replicaSet, want: "alice apps/Deployment/web/deployment-web"},
		"a controller, for a forged middle":    {user: controllerUser + "replicaset-controller", owner: bobs, want: "bob apps/ReplicaSet/fake/replicaset-fake"},
		"a controller, uid of another":         {user: controllerUser + "replicaset-controller", owner: wrongUID, want: "!has uid replicaset-web-1, and the reference says another"},
		"a controller, owner gone":             {user: controllerUser + "replicaset-controller", owner: missing, want: "!does not exist"},
		"a controller, owner unstamped":        {user: controllerUser + "replicaset-controller", owner: unstamped, want: "!is charged to nobody"},
		"a controller without owner":           {user: controllerUser + "job-controller", want: "!without a controlling owner"},
		"a controller that is not trusted":     {user: controllerUser + "some-other", owner: replicaSet, want: "!is of another namespace"},
		"a bound account":                      {user: accountPrefix + "team:ci", want: "carol "},
		"a bound account that names another":   {user: accountPrefix + "team:ci", given: "alice", want: "!the request is from system:serviceaccount:team:ci, which acts for carol"},
		"an account of the moved project":      {user: accountPrefix + "team:batch", want: "project:vision "},
		"an unbound account":                   {user: accountPrefix + "team:default", want: "!kubectl annotate serviceaccount -n team default aipub.io/user=USER"},
		"an unbound account with an owner":     {user: accountPrefix + "team:default", owner: replicaSet, want: "!acts for nobody"},
		"an account of another namespace":      {user: accountPrefix + "argocd:server", want: "!is of another namespace"},
		"a node":                               {user: "system:node:n1", want: "!is no person"},
		"the admin of a small distribution":    {user: "system:admin", want: "system:admin "},
		"a name like a project's":              {user: "project:vision", want: "!is no person"},
	} {
		t.Run(name, func(t *testing.T) {
			pod := podOf(container("app", "set-small=1", ""))
			if tc.given != "" {
				pod.Annotations = map[string]string{v1alpha1.UserAnnotation: tc.given}
			}
			if tc.owner != nil {
				pod.OwnerReferences = []metav1.OwnerReference{refTo(tc.owner)}
			}
			got, refusal := review(t, PodMutator(setReader{}, identity, Config{}), tc.user, "/Pod", pod)
			if want, refused := strings.CutPrefix(tc.want, "!"); refused {
				if !strings.Contains(refusal, want) {
					t.Errorf("answer %v %q, want a refusal with %q", got, refusal, want)
				}
				return
			}
			if who := got[v1alpha1.UserAnnotation] + " " + got[v1alpha1.WorkloadAnnotation]; who != tc.want || got[v1alpha1.ProjectAnnotation] != "vision" {
				t.Errorf("charged to %q in %v (%s), want %q", who, got, refusal, tc.want)
			}
		})
	}
}

// An account that was deleted and made again by somebody else does not inherit
// the tokens of the first.
func TestATokenOfAnEarlierAccountActsForNobody(t *testing.T) {
	identity := identityOf(t, made(&corev1.ServiceAccount{}, "ci", "carol", nil))
	for uid, want := range map[string]string{"serviceaccount-ci": "carol", "": "carol", "earlier": ""} {
		a, err := identity.account(t.Context(), authenticationv1.UserInfo{Username: accountPrefix + "team:ci", UID: uid}, "team")
		if err != nil || a.User != want {
			t.Errorf("uid %q acts for %q (%v), want %q", uid, a.User, err, want)
		}
	}
}

func TestTypesAndForgedStamps(t *testing.T) {
	for name, tc := range map[string]struct {
		kind   string
		object client.Object
		given  map[string]string
		want   map[string]string
		parts  []string
	}{
		"a pod is a Job": {kind: "/Pod", object: podOf(container("app", "", "")),
			want: map[string]string{v1alpha1.TypeAnnotation: "Job"}},
		"a Deployment is an Operation": {kind: "apps/Deployment", object: &appsv1.Deployment{},
			want: map[string]string{v1alpha1.TypeAnnotation: "Operation"}},
		"a Workspace is one": {kind: "aipub.io/Workspace", object: &corev1.ConfigMap{},
			want: map[string]string{v1alpha1.TypeAnnotation: "Workspace"}},
		"the author chooses": {kind: "apps/StatefulSet", object: &appsv1.StatefulSet{}, given: map[string]string{v1alpha1.TypeAnnotation: "Workspace"},
			want: map[string]string{v1alpha1.TypeAnnotation: "Workspace"}},
		"a claim has no type": {kind: "/PersistentVolumeClaim", object: &corev1.PersistentVolumeClaim{},
			want: map[string]string{v1alpha1.ProjectAnnotation: "vision", v1alpha1.TypeAnnotation: ""}},
		"an account has a user only": {kind: "/ServiceAccount", object: &corev1.ServiceAccount{},
			want: map[string]string{v1alpha1.UserAnnotation: "alice", v1alpha1.ProjectAnnotation: ""}},
		"a rank at creation has its author": {kind: "apps/Deployment", object: &appsv1.Deployment{}, given: map[string]string{v1alpha1.RankAnnotation: "m"},
			want: map[string]string{v1alpha1.RankedByAnnotation: "alice"}},
		"no such type": {kind: "apps/Deployment", object: &appsv1.Deployment{}, given: map[string]string{v1alpha1.TypeAnnotation: "Notebook"},
			parts: []string{"metadata.annotations[aipub.io/type]", `"Notebook"`, "Workspace, Job and Operation"}},
		"another project": {kind: "apps/Deployment", object: &appsv1.Deployment{}, given: map[string]string{v1alpha1.ProjectAnnotation: "nlp"},
			parts: []string{"metadata.annotations[aipub.io/project]", `"nlp"`, "which is vision"}},
		"a workload of its own choice": {kind: "/Pod", object: podOf(container("app", "", "")), given: map[string]string{v1alpha1.WorkloadAnnotation: "apps/Deployment/web/1"},
			parts: []string{"metadata.annotations[aipub.io/workload]", "leave it out"}},
		"opened by its author": {kind: "/Pod", object: podOf(container("app", "", "")), given: map[string]string{v1alpha1.NodeAnnotation: "n1", v1alpha1.OpenedAnnotation: "Within"},
			parts: []string{"metadata.annotations[aipub.io/node]", "metadata.annotations[aipub.io/opened]", `"n1"`}},
	} {
		t.Run(name, func(t *testing.T) {
			tc.object.SetAnnotations(tc.given)
			got, refusal := review(t, Stamper(identityOf(t), Config{}), "alice", tc.kind, tc.object)
			requireSentence(t, refusal, tc.parts...)
			for name, want := range tc.want {
				if got[name] != want {
					t.Errorf("%s is %q (%s), want %q", name, got[name], refusal, want)
				}
			}
		})
	}
}

// What is charged to nobody, since it asks for nothing, is left alone where its
// author is unknown.
func TestWhatAsksForNothingNeedsNobody(t *testing.T) {
	hook := Stamper(identityOf(t), Config{})
	free, asking := &appsv1.Deployment{}, &appsv1.Deployment{}
	asking.Spec.Template.Spec = podOf(container("app", "set-small=1", "")).Spec
	storing := &appsv1.StatefulSet{}
	storing.Spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{{}}
	scratch := &appsv1.Deployment{}
	scratch.Spec.Template.Spec.Volumes = []corev1.Volume{{Name: "s", VolumeSource: corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{}}}}
	const stranger = accountPrefix + "argocd:server"
	if got, refusal := review(t, hook, stranger, "apps/Deployment", free); refusal != "" || len(got) > 0 {
		t.Errorf("annotations %v, refusal %q, want neither", got, refusal)
	}
	for name, object := range map[string]client.Object{"sets": asking, "claims": storing, "ephemeral volumes": scratch} {
		kind := "apps/" + kindName(object)
		if _, refusal := review(t, hook, stranger, kind, object); !strings.Contains(refusal, "of another namespace") {
			t.Errorf("%s: refusal %q", name, refusal)
		}
	}
}

func TestClaimsOfAStatefulSet(t *testing.T) {
	set := made(&appsv1.StatefulSet{}, "db-main", "alice", nil).(*appsv1.StatefulSet)
	set.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "db"}}
	set.Spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "data-disk"}}}
	hook := Stamper(identityOf(t, set), Config{})
	for name, tc := range map[string]struct{ user, name, app, want string }{
		"by its controller":     {controllerUser + "statefulset-controller", "data-disk-db-main-12", "db", "alice"},
		"other labels":          {controllerUser + "statefulset-controller", "data-disk-db-main-12", "x", ""},
		"no such template":      {controllerUser + "statefulset-controller", "data-db-main-12", "db", ""},
		"by another controller": {controllerUser + "ephemeral-volume-controller", "data-disk-db-main-12", "db", ""},
		"by a person's hand":    {"bob", "data-disk-db-main-12", "db", "bob"},
	} {
		claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: tc.name, Namespace: "team", Labels: map[string]string{"app": tc.app}}}
		got, refusal := review(t, hook, tc.user, "/PersistentVolumeClaim", claim)
		if got[v1alpha1.UserAnnotation] != tc.want || (tc.want == "") != (refusal != "") {
			t.Errorf("%s: charged to %q (%s), want %q", name, got[v1alpha1.UserAnnotation], refusal, tc.want)
		}
	}
}

func TestUpdatesGetTheirStampsBack(t *testing.T) {
	stamps := map[string]string{v1alpha1.UserAnnotation: "alice", v1alpha1.ProjectAnnotation: "vision", v1alpha1.TypeAnnotation: "Operation"}
	asking := appsv1.Deployment{}
	asking.Spec.Template.Spec = podOf(container("app", "set-small=1", "")).Spec
	for name, tc := range map[string]struct {
		user          string
		before, after map[string]string
		want          map[string]string
	}{
		"replaced by a bare manifest":      {user: "bob", before: stamps, after: nil, want: stamps},
		"a lie is not covered up":          {user: "bob", before: stamps, after: map[string]string{v1alpha1.UserAnnotation: "bob"}, want: map[string]string{v1alpha1.UserAnnotation: "bob", v1alpha1.ProjectAnnotation: "vision", v1alpha1.TypeAnnotation: "Operation"}},
		"the first write under management": {user: "bob", want: map[string]string{v1alpha1.UserAnnotation: "bob", v1alpha1.ProjectAnnotation: "vision", v1alpha1.TypeAnnotation: "Operation"}},
		"by nobody in particular":          {user: controllerUser + "deployment-controller"},
	} {
		t.Run(name, func(t *testing.T) {
			before, after := asking.DeepCopy(), asking.DeepCopy()
			before.Annotations, after.Annotations = tc.before, tc.after
			req := requestFor(t, mustJSON(t, after))
			req.OldObject.Raw, req.Operation, req.UserInfo.Username = mustJSON(t, before), admissionv1.Update, tc.user
			req.Kind = metav1.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}
			response := Stamper(identityOf(t), Config{}).Handle(t.Context(), req)
			if !response.Allowed {
				t.Fatalf("refused: %s", response.Result.Message)
			}
			var got appsv1.Deployment
			if err := json.Unmarshal(mustPatch(t, req.Object.Raw, response), &got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got.Annotations); diff != "" {
				t.Errorf("annotations (-want +got):\n%s", diff)
			}
		})
	}
}
