// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"context"
	"testing"
	"time"
)

// eventually tries until check succeeds, and fails after a minute.
func eventually(t *testing.T, what string, check func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for {
		err := check(ctx)
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("%s: not within a minute: %v", what, err)
		case <-time.After(50 * time.Millisecond):
		}
	}
}
