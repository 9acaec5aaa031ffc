// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"fmt"
	"strings"

	"aipub.io/aipub/api/v1alpha1"
)

// Facts are what [Charge] decides on.
type Facts struct {
	// Requester is the user name of who sends the request.
	Requester string
	// Given is the object's own aipub.io/user.
	Given string
	// Project is that of the namespace.
	Project string
	// Owner is whom the object was made for; nil unless the requester is trusted
	// and the object has a controlling owner.
	Owner *Owner
	// Trusted is true when the requester is a trusted controller.
	Trusted bool
	// Controller is true when the requester is our own controller.
	Controller bool
	// Account is the requester when it is a ServiceAccount, else nil.
	Account *Account
	// MayAssign is true when RBAC lets the requester act for Given. It is looked up
	// only where Given says something that does not follow from the rest.
	MayAssign bool
}

// Account is a ServiceAccount that sends a request.
type Account struct {
	Namespace, Name string
	// Local is true when it is one of the object's namespace.
	Local bool
	// User is whom it acts for; empty for nobody.
	User string
}

// Owner is the controlling owner of an object, as the cluster knows it.
type Owner struct {
	// Label is KIND/NAME for messages.
	Label string
	// Unknown says why the owner cannot be believed; empty when its identity was
	// verified.
	Unknown string
	// User and Type are its stamps; empty when it has none.
	User string
	Type v1alpha1.WorkloadType
	// Workload is the workload that it belongs to, or itself; see
	// [v1alpha1.WorkloadAnnotation]. Empty for a CronJob.
	Workload string
}

var userField = "metadata.annotations[" + v1alpha1.UserAnnotation + "]"

// Charge says to whom a new object is charged, or why to nobody. It is a pure
// function of the facts, so a second call with its answer as Given says the same.
func Charge(f Facts) (string, *Refusal) {
	if f.Trusted && f.Owner != nil {
		return f.fromOwner()
	}
	own := f.own()
	switch {
	case f.Given == "" && own != "":
		return own, nil
	case f.Given == "":
		return "", f.nobody()
	case f.Given == own:
		return own, nil
	case !f.MayAssign:
		return "", f.forged(own)
	case strings.HasPrefix(f.Given, v1alpha1.ProjectUserPrefix) && f.Given != f.projectUser():
		return "", &Refusal{Reason: ReasonForgedUser, Field: userField, Value: f.Given, Detail: fmt.Sprintf(
			"names another project; what belongs to no single person is charged to this namespace's project, %s", f.projectUser())}
	case f.Given != f.projectUser() && !isPerson(f.Given):
		return "", &Refusal{Reason: ReasonForgedUser, Field: userField, Value: f.Given, Detail: fmt.Sprintf(
			"is no person; give the user name of one, or %s for what belongs to the project as a whole", f.projectUser())}
	}
	return f.Given, nil
}

func (f Facts) projectUser() string { return v1alpha1.ProjectUserPrefix + f.Project }

// here turns the charge to a project as a whole into the charge to the project of
// this namespace, which may have moved.
func (f Facts) here(user string) string {
	if strings.HasPrefix(user, v1alpha1.ProjectUserPrefix) {
		return f.projectUser()
	}
	return user
}

// own is whom the requester acts for without being given the right to act for
// others: a person for themselves, a ServiceAccount for whom it is bound to.
func (f Facts) own() string {
	switch {
	case f.Account != nil && f.Account.Local:
		return f.here(f.Account.User)
	case f.Account == nil && isPerson(f.Requester):
		return f.Requester
	}
	return ""
}

func (f Facts) fromOwner() (string, *Refusal) {
	refuse := func(detail string) (string, *Refusal) {
		return "", &Refusal{Reason: ReasonUnknownOwner, Field: "metadata.ownerReferences", Value: f.Owner.Label, Detail: detail}
	}
	switch {
	case f.Owner.Unknown != "":
		return refuse(f.Owner.Unknown)
	case f.Owner.User == "":
		return refuse(fmt.Sprintf("is charged to nobody, so neither is what it makes; its author writes it again, or somebody with the verb assign on "+
			"identities.aipub.io names them: kubectl annotate %s %s=USER", f.Owner.Label, v1alpha1.UserAnnotation))
	}
	return f.here(f.Owner.User), nil
}

// nobody refuses an object whose author acts for nobody.
func (f Facts) nobody() *Refusal {
	const orName = "or name in this annotation who is charged, which takes the verb assign on identities.aipub.io"
	refusal := &Refusal{Field: userField}
	switch a := f.Account; {
	case a != nil && a.Local:
		refusal.Reason = ReasonUnboundAccount
		refusal.Detail = fmt.Sprintf("ServiceAccount %s acts for nobody, so nobody would be charged; bind it to yourself or, with the verb assign on identities.aipub.io, "+
			"to another: kubectl annotate serviceaccount -n %s %s %s=USER (%s for the project)", a.Name, a.Namespace, a.Name, v1alpha1.UserAnnotation, f.projectUser())
	case f.Trusted:
		refusal.Reason = ReasonUnknownOwner
		refusal.Detail = fmt.Sprintf("%s made it without a controlling owner in metadata.ownerReferences, so nobody would be charged; give it one that is charged to somebody, %s", f.Requester, orName)
	case a != nil:
		refusal.Reason = ReasonForeignAccount
		refusal.Detail = fmt.Sprintf("ServiceAccount %s/%s is of another namespace and acts for nobody here; use one of this namespace, %s", a.Namespace, a.Name, orName)
	default:
		refusal.Reason = ReasonNoPerson
		refusal.Detail = fmt.Sprintf("%s is no person, so nobody would be charged; act as a person, %s", f.Requester, orName)
	}
	return refusal
}

func (f Facts) forged(own string) *Refusal {
	who := f.Requester
	if own != "" && own != who {
		who += ", which acts for " + own
	}
	return &Refusal{Reason: ReasonForgedUser, Field: userField, Value: f.Given, Detail: fmt.Sprintf(
		"would be charged, and the request is from %s; leave the annotation out, or get the verb assign on identities.aipub.io for this name", who)}
}
