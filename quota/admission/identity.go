// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"aipub.io/aipub/api/v1alpha1"
)

// Access asks the cluster's authorizer.
type Access interface {
	// MayAssign reports whether somebody may act for a user in a namespace: the verb
	// assign on identities.aipub.io with the user as name.
	MayAssign(ctx context.Context, who authenticationv1.UserInfo, namespace, user string) (bool, error)
	// MayExtend reports whether somebody may give Workspaces of a namespace any time:
	// the verb extend on workspaces.aipub.io.
	MayExtend(ctx context.Context, who authenticationv1.UserInfo, namespace string) (bool, error)
}

// IdentityConfig says whom to believe.
type IdentityConfig struct {
	// Trusted are the user names of controllers that act for an object's owner; see
	// [DefaultTrusted].
	Trusted []string
	// Controller is the user name of our controller, which alone says where a pod
	// goes; see [ControllerUser].
	Controller string
	// Kinds are what may own what is charged; see [ParseKinds].
	Kinds Kinds
}

// Identity finds out to whom a request is charged.
type Identity struct {
	owners
	config IdentityConfig
	access Access
}

// NewIdentity makes one. cached may lag behind; live asks the API server itself.
func NewIdentity(cached, live client.Reader, access Access, config IdentityConfig) *Identity {
	return &Identity{owners: owners{cached: cached, live: live, kinds: config.Kinds}, config: config, access: access}
}

// Watched lists what identity reads from a cache, for the caller to fill it
// beforehand. Only the metadata is read.
func (i *Identity) Watched() []client.Object {
	watched := []client.Object{
		partial(schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}),
		partial(schema.GroupVersionKind{Version: "v1", Kind: serviceAccountKind.Kind}),
	}
	for _, kind := range []schema.GroupVersionKind{
		{Version: "v1", Kind: "ReplicationController"},
		{Group: "apps", Version: "v1", Kind: "Deployment"}, {Group: "apps", Version: "v1", Kind: "ReplicaSet"},
		{Group: "apps", Version: "v1", Kind: "StatefulSet"}, {Group: "apps", Version: "v1", Kind: "DaemonSet"},
		{Group: "batch", Version: "v1", Kind: "Job"}, {Group: "batch", Version: "v1", Kind: "CronJob"},
	} {
		watched = append(watched, partial(kind))
	}
	return watched
}

// trusts reports whether a user name is that of a trusted controller.
func (i *Identity) trusts(user string) bool { return slices.Contains(i.config.Trusted, user) }

// facts gathers what [Charge] needs for a request on an object, and the owner's
// stamps.
func (i *Identity) facts(ctx context.Context, req admission.Request, d document) (Facts, *failure) {
	who := req.UserInfo.Username
	f := Facts{Requester: who, Given: d.meta.Annotations[v1alpha1.UserAnnotation], Trusted: i.trusts(who), Controller: who == i.config.Controller}
	var err error
	if f.Project, err = i.project(ctx, req.Namespace); err != nil {
		return f, unavailable(err)
	}
	if f.Project == "" {
		return f, nil
	}
	if f.Trusted {
		if f.Owner, err = i.of(ctx, req.Namespace, &d.meta); err == nil && f.Owner == nil && d.kind == claimKind && makesClaims(who) {
			f.Owner, err = i.ofClaim(ctx, req.Namespace, &d.meta)
		}
		if err != nil {
			return f, unavailable(err)
		}
	}
	if f.Account, err = i.account(ctx, req.UserInfo, req.Namespace); err != nil {
		return f, unavailable(err)
	}
	if f.Given == "" || f.Owner != nil || f.Given == f.own() {
		return f, nil
	}
	if f.MayAssign, err = i.access.MayAssign(ctx, req.UserInfo, req.Namespace, f.Given); err != nil {
		return f, unavailable(err)
	}
	return f, nil
}

// project reads the project of a namespace; empty where its label is. The policies compare it with what the
// API server knows, so a cache that lags behind costs a refusal at most.
func (i *Identity) project(ctx context.Context, namespace string) (string, error) {
	gvk := schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}
	for _, reader := range []client.Reader{i.cached, i.live} {
		found := partial(gvk)
		err := reader.Get(ctx, types.NamespacedName{Name: namespace}, found)
		if err != nil && !apierrors.IsNotFound(err) {
			return "", fmt.Errorf("read namespace %s: %w", namespace, err)
		}
		if project := found.Labels[v1alpha1.ProjectLabel]; project != "" {
			return project, nil
		}
		if _, labelled := found.Labels[v1alpha1.ProjectLabel]; labelled && reader == i.live {
			return "", nil
		}
	}
	return "", fmt.Errorf("read namespace %s: it has no label %s any more; try again", namespace, v1alpha1.ProjectLabel)
}

// account describes the requester when it is a ServiceAccount. A binding that the
// cache does not show is looked for live, since people bind and go on at once.
func (i *Identity) account(ctx context.Context, who authenticationv1.UserInfo, namespace string) (*Account, error) {
	home, name, is := accountOf(who.Username)
	if !is {
		return nil, nil
	}
	a := &Account{Namespace: home, Name: name, Local: home == namespace}
	if !a.Local {
		return a, nil
	}
	readers := []client.Reader{i.cached, i.live}
	if who.UID == "" { // nothing would tell an account from an earlier one of its name
		readers = readers[1:]
	}
	gvk := schema.GroupVersionKind{Version: "v1", Kind: serviceAccountKind.Kind}
	for _, reader := range readers {
		found := partial(gvk)
		err := reader.Get(ctx, types.NamespacedName{Namespace: home, Name: name}, found)
		if err != nil && !apierrors.IsNotFound(err) {
			return nil, fmt.Errorf("read ServiceAccount %s/%s: %w", home, name, err)
		}
		if user := found.Annotations[v1alpha1.UserAnnotation]; user != "" && sameAccount(who, &found.ObjectMeta) {
			a.User = user
			return a, nil
		}
	}
	return a, nil
}

// sameAccount tells a token of an earlier account of the same name from one of
// today's. Who impersonates has no uid.
func sameAccount(who authenticationv1.UserInfo, account *metav1.ObjectMeta) bool {
	return who.UID == "" || who.UID == string(account.UID)
}

func unavailable(err error) *failure {
	return &failure{code: http.StatusServiceUnavailable, reason: ReasonUnavailable, err: err}
}
