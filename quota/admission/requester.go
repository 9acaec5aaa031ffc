// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"strings"

	"aipub.io/aipub/api/v1alpha1"
)

const (
	systemPrefix  = "system:"
	accountPrefix = "system:serviceaccount:"
	// systemAdmin is how small distributions call the person who installed them.
	systemAdmin = "system:admin"
	// controllerManager is Kubernetes' controllers where they share one account.
	controllerManager = "system:kube-controller-manager"
)

// isPerson reports whether a user name can be charged. Names of the system are
// none, and neither are those that look like a project's.
func isPerson(name string) bool {
	if name == systemAdmin {
		return true
	}
	return name != "" && !strings.HasPrefix(name, systemPrefix) && !strings.HasPrefix(name, v1alpha1.ProjectUserPrefix)
}

// accountOf splits the user name of a ServiceAccount.
func accountOf(user string) (namespace, name string, ok bool) {
	rest, ok := strings.CutPrefix(user, accountPrefix)
	if !ok {
		return "", "", false
	}
	return strings.Cut(rest, ":")
}

// makesClaims reports whether a user name is that of the StatefulSet controller.
func makesClaims(user string) bool {
	return user == accountPrefix+"kube-system:statefulset-controller" || user == controllerManager
}

// DefaultTrusted are the user names of the controllers that make pods and claims
// for what people wrote: those of Kubernetes, and ours in its namespace. They copy
// who is charged from the owner that they act for.
func DefaultTrusted(namespace string) []string {
	trusted := []string{controllerManager}
	for _, name := range []string{
		"cronjob-controller", "daemon-set-controller", "deployment-controller", "ephemeral-volume-controller", "job-controller",
		"replicaset-controller", "replication-controller", "statefulset-controller",
	} {
		trusted = append(trusted, accountPrefix+"kube-system:"+name)
	}
	return append(trusted, ControllerUser(namespace))
}

// ControllerUser is the user name of our controller in a namespace.
func ControllerUser(namespace string) string { return accountPrefix + namespace + ":aipub-controller" }
