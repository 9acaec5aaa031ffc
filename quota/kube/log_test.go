// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"log/slog"
	"os"
	"testing"
)

// slogHandler writes a test's log where it can be read while the test runs.
func slogHandler(t *testing.T) slog.Handler {
	t.Helper()
	return slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug})
}
