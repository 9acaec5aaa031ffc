// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"encoding/json"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

func TestLoweringPatchOnlyLowersSetsThatAreThere(t *testing.T) {
	allocatable := map[string]string{"aipub.io/set-a": "12", "aipub.io/set-b": "6", "aipub.io/other": "5", "cpu": "1500m"}
	cases := map[string]struct {
		available map[string]int64
		want      map[string]string // nil: no patch
	}{
		"lowered":                         {map[string]int64{"aipub.io/set-b": 5}, map[string]string{"aipub.io/set-b": "5"}},
		"lowered to nothing":              {map[string]int64{"aipub.io/set-a": 0, "aipub.io/set-b": 0}, map[string]string{"aipub.io/set-a": "0", "aipub.io/set-b": "0"}},
		"one falls, one rises":            {map[string]int64{"aipub.io/set-a": 13, "aipub.io/set-b": 1}, map[string]string{"aipub.io/set-b": "1"}},
		"never raised":                    {map[string]int64{"aipub.io/set-a": 13}, nil},
		"the same is no write":            {map[string]int64{"aipub.io/set-a": 12, "aipub.io/set-b": 6}, nil},
		"a name that is absent stays so":  {map[string]int64{"aipub.io/set-c": 0}, nil},
		"names of others are not touched": {map[string]int64{"aipub.io/other": 0, "cpu": 1}, nil},
		"no number of devices":            {map[string]int64{"aipub.io/set-a": -1}, nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			n := node(allocatable, allocatable)
			raw, err := loweringPatch(n, tc.available)
			if err != nil {
				t.Fatal(err)
			}
			if tc.want == nil {
				if raw != nil {
					t.Errorf("patch %s, want none", raw)
				}
				return
			}
			after, err := patched(t, n, raw)
			if err != nil {
				t.Fatalf("apply %s: %v", raw, err)
			}
			want := n.DeepCopy()
			for k, v := range tc.want {
				want.Status.Allocatable[corev1.ResourceName(k)] = resource.MustParse(v)
			}
			if diff := cmp.Diff(want.Status, after.Status); diff != "" {
				t.Errorf("status (-want +got):\n%s", diff)
			}
		})
	}
}

func TestLoweringPatchRefusesANodeThatWasWrittenInBetween(t *testing.T) {
	seen := map[string]string{"aipub.io/set-a": "12"}
	raw, err := loweringPatch(node(seen, seen), map[string]int64{"aipub.io/set-a": 5})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := patched(t, node(seen, map[string]string{"aipub.io/set-a": "3"}), raw); err == nil {
		t.Error("a value of 3 was raised to 5")
	}
}

func TestLowerWritesOnlyWhatFalls(t *testing.T) {
	scheme, err := Scheme()
	if err != nil {
		t.Fatal(err)
	}
	n := node(map[string]string{"aipub.io/set-a": "12"}, map[string]string{"aipub.io/set-a": "12"})
	n.Name = "gpu-1"
	writes := 0
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(n).WithStatusSubresource(n).WithInterceptorFuncs(interceptor.Funcs{
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
			writes++
			return c.SubResource(sub).Patch(ctx, o, p, opts...)
		},
	}).Build()
	for _, available := range []int64{12, 7, 9, 7, 13} {
		if err := Lower(t.Context(), c, "gpu-1", map[string]int64{"aipub.io/set-a": available}); err != nil {
			t.Fatalf("%d available: %v", available, err)
		}
	}
	var after corev1.Node
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(n), &after); err != nil {
		t.Fatal(err)
	}
	got := after.Status.Allocatable["aipub.io/set-a"]
	kept := after.Status.Capacity["aipub.io/set-a"]
	if got.Value() != 7 || kept.Value() != 12 || writes != 1 {
		t.Errorf("allocatable %s, capacity %s after %d writes; want 7, 12, 1", &got, &kept, writes)
	}
	if err := Lower(t.Context(), c, "missing", map[string]int64{"aipub.io/set-a": 1}); err == nil {
		t.Error("no error for a node that does not exist")
	}
}

// patched is a node as a JSON patch leaves it.
func patched(t *testing.T, n *corev1.Node, raw []byte) (after corev1.Node, err error) {
	t.Helper()
	patch, err := jsonpatch.DecodePatch(raw)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := json.Marshal(n)
	if err != nil {
		t.Fatal(err)
	}
	out, err := patch.Apply(doc)
	if err != nil {
		return after, err
	}
	if err := json.Unmarshal(out, &after); err != nil {
		t.Fatal(err)
	}
	return after, nil
}
