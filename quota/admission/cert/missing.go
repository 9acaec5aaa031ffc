// SPDX-License-Identifier: Apache-2.0

package cert

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// MissingSecretError says that the Secret does not exist and that the keeper
// has no right to make it: the chart does.
type MissingSecretError struct {
	// Secret that is missing.
	Secret types.NamespacedName
	err    error
}

// Error names the Secret and the API server's answer.
func (e *MissingSecretError) Error() string {
	return fmt.Sprintf("secret %s in %s is missing: create it: %v", e.Secret.Name, e.Secret.Namespace, e.err)
}

// Unwrap returns the API server's answer.
func (e *MissingSecretError) Unwrap() error { return e.err }

// Remedy says how to make the Secret; what it holds is filled in by a keeper.
func (e *MissingSecretError) Remedy() string {
	return fmt.Sprintf("helm upgrade, or kubectl create secret generic %s -n %s", e.Secret.Name, e.Secret.Namespace)
}

// report logs the end of a round, unless the round before ended alike, and
// returns what to compare the next one with. A manager gives its runnables a
// context without a logger; its own is used then.
func report(ctx context.Context, err error, last string) string {
	l := log.FromContext(ctx)
	if err == nil {
		if last != "" {
			l.Info("Certificate rounds succeed again")
		}
		return ""
	}
	var missing *MissingSecretError
	alike := err.Error()
	isMissing := errors.As(err, &missing)
	if isMissing {
		alike = missing.Secret.String()
	}
	switch {
	case alike == last:
	case isMissing:
		l.Error(err, "Certificate secret is missing",
			"name", missing.Secret.Name, "namespace", missing.Secret.Namespace, "remedy", missing.Remedy())
	default:
		l.Error(err, "Certificate round ended early")
	}
	return alike
}
