// SPDX-License-Identifier: Apache-2.0

package workspace

import (
	"errors"
	"fmt"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestOnlyConflicts(t *testing.T) {
	conflict := fmt.Errorf("write status: %w", apierrors.NewConflict(schema.GroupResource{Resource: "workspaces"}, "w", errors.New("it has been modified")))
	bad := errors.New("no room")
	for name, tc := range map[string]struct {
		err  error
		want bool
	}{
		"a conflict":              {conflict, true},
		"two, one within another": {errors.Join(conflict, errors.Join(conflict)), true},
		"a conflict and more":     {errors.Join(conflict, bad), false},
		"more within":             {errors.Join(conflict, errors.Join(bad, conflict)), false},
		"something else":          {bad, false},
	} {
		if got := onlyConflicts(tc.err); got != tc.want {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
	}
}
