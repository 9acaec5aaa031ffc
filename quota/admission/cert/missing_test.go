// SPDX-License-Identifier: Apache-2.0

package cert

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/go-logr/logr/funcr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// The chart lets the controller read and update the Secret, not create one.
func TestAMissingSecretIsSaidOnce(t *testing.T) {
	allowed := false
	c := fake.NewClientBuilder().WithObjects(configurations()...).WithInterceptorFuncs(interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.CreateOption) error {
			if allowed {
				return c.Create(ctx, obj, opts...)
			}
			return apierrors.NewForbidden(corev1.Resource("secrets"), obj.GetName(), errors.New("no right to create"))
		},
	}).Build()
	var lines []string
	ctx := log.IntoContext(t.Context(), funcr.New(func(_, args string) { lines = append(lines, args) }, funcr.Options{}))
	k := newKeeper(c, testclock.NewFakeClock(epoch))

	last := ""
	for range 3 {
		err := k.Round(ctx)
		var missing *MissingSecretError
		if !errors.As(err, &missing) || missing.Secret != secretName || !apierrors.IsForbidden(err) {
			t.Fatalf("Round: %v, want a MissingSecretError of %s", err, secretName)
		}
		last = report(ctx, err, last)
	}
	if len(lines) != 1 {
		t.Fatalf("three rounds logged %q, want one line", lines)
	}
	for _, want := range []string{`"name"="aipub-webhook-cert"`, `"namespace"="aipub-system"`, "helm upgrade",
		"kubectl create secret generic aipub-webhook-cert -n aipub-system"} {
		if !strings.Contains(lines[0], want) {
			t.Errorf("the log lacks %s: %s", want, lines[0])
		}
	}

	empty := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: secretName.Namespace, Name: secretName.Name}}
	allowed = true
	if err := c.Create(ctx, empty); err != nil {
		t.Fatal(err)
	}
	lines = nil
	last = report(ctx, k.Round(ctx), last)
	if last != "" || !strings.Contains(strings.Join(lines, " "), "succeed again") {
		t.Errorf("after the Secret was made: %q, logged %q", last, lines)
	}
}
