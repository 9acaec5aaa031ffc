// SPDX-License-Identifier: Apache-2.0

package workspace

import (
	"errors"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// onlyConflicts reports whether an error is of nothing but writes to objects that
// somebody changed meanwhile. That is nobody's mistake: the next look sees them.
func onlyConflicts(err error) bool {
	if many, ok := errors.AsType[interface {
		error
		Unwrap() []error
	}](err); ok {
		return !slices.ContainsFunc(many.Unwrap(), func(e error) bool { return !onlyConflicts(e) })
	}
	return apierrors.IsConflict(err)
}
