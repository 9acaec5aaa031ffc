// SPDX-License-Identifier: Apache-2.0

package quota

import (
	"strings"

	api "aipub.io/aipub/api/v1alpha1"
)

// The words that sentences about quotas of sets and of storage share.

// Subject is whose limit it is: a project, or a person, by name where sees allows it.
func Subject(s api.QuotaScope, user string, sees func(string) bool) string {
	switch {
	case s.User == "" && !s.EachUser:
		return "project " + s.Project
	case !sees(user):
		return "a person"
	}
	return Person(user)
}

// Person is how a user is called: what belongs to a project has its name, and what is
// older than the project may be nobody's.
func Person(user string) string {
	if project, ok := strings.CutPrefix(user, api.ProjectUserPrefix); ok {
		return "project " + project + " itself"
	}
	if user == "" {
		return "nobody known"
	}
	return user
}

// WithinProject is " in project NAME" for a person's limit in a project, else nothing.
func WithinProject(s api.QuotaScope) string {
	if s.Project == "" || s.User == "" && !s.EachUser {
		return ""
	}
	return " in project " + s.Project
}

// Elsewhere is where a person has what lies in these projects, which are not the
// reader's and are not named.
func Elsewhere(projects []string) string {
	if len(projects) == 1 {
		return " in another project"
	}
	return " in other projects"
}
