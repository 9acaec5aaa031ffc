// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"errors"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	api "aipub.io/aipub/api/v1alpha1"
)

// A write to what others changed meanwhile is repeated without an error; anything else
// beside it is one.
func TestConflictsAreRepeatedQuietly(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := errors.Join(corev1.AddToScheme(scheme), api.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	conflict := apierrors.NewConflict(schema.GroupResource{Resource: "x"}, "x", errors.New("it has been modified"))
	policy, node, partition := makePolicy("p", "a", 9, whole("large", 1)), makeNode("a1", "a"), makePartition("a1", 2)
	for name, tc := range map[string]struct {
		set, status error
		quiet       bool
	}{
		"one conflict":                 {conflict, nil, true},
		"two":                          {conflict, conflict, true},
		"a conflict and something bad": {conflict, errors.New("no room"), false},
		"something bad":                {nil, errors.New("no room"), false},
	} {
		t.Run(name, func(t *testing.T) {
			c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(&policy, &node, &partition).WithStatusSubresource(&policy).
				WithInterceptorFuncs(interceptor.Funcs{
					Create: func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error { return tc.set },
					SubResourceUpdate: func(context.Context, client.Client, string, client.Object, ...client.SubResourceUpdateOption) error {
						return tc.status
					},
				}).Build()
			result, err := NewController(c, Config{}).Reconcile(t.Context(), reconcile.Request{})
			if quiet := err == nil && result.RequeueAfter > 0; quiet != tc.quiet {
				t.Errorf("result %+v, error %v; want it quiet: %v", result, err, tc.quiet)
			}
		})
	}
	if onlyConflicts(fmt.Errorf("look: %w", errors.New("no room"))) {
		t.Error("an error that is no conflict counts as one")
	}
}
