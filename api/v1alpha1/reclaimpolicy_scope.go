// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Binds reports whether the scope has in it what a user holds in a project. One that
// the API server would refuse, because it names somebody beside everyone, or nobody at
// all, binds nobody.
func (s ReclaimScope) Binds(project, user string) bool {
	named := s.Project != "" || s.User != ""
	if s.Everyone || !named {
		return s.Everyone && !named
	}
	return (s.Project == "" || s.Project == project) && (s.User == "" || s.User == user)
}
