// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"encoding/json"
	"testing"
	"time"

	jsonpatch "github.com/evanphx/json-patch/v5"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

func node(capacity, allocatable map[string]string) *corev1.Node {
	list := func(m map[string]string) corev1.ResourceList {
		l := corev1.ResourceList{}
		for k, v := range m {
			l[corev1.ResourceName(k)] = resource.MustParse(v)
		}
		return l
	}
	n := &corev1.Node{}
	n.Status.Capacity, n.Status.Allocatable = list(capacity), list(allocatable)
	return n
}

func TestStaleNames(t *testing.T) {
	cases := map[string]struct {
		capacity map[string]string
		served   []string
		want     []string
	}{
		"a name that nobody serves and the kubelet has let go of is stale": {
			capacity: map[string]string{"aipub.io/set-old": "0", "cpu": "4"},
			want:     []string{"aipub.io/set-old"},
		},
		"a name that the kubelet still keeps would come back, so it stays": {
			capacity: map[string]string{"aipub.io/set-old": "3"},
		},
		"a served name stays, though its last slice is gone": {
			capacity: map[string]string{"aipub.io/set-small": "0"},
			served:   []string{"aipub.io/set-small"},
		},
		"names of others are not ours to remove": {
			capacity: map[string]string{"nvidia.com/gpu": "0", "aipub.io/other": "0"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, StaleNames(node(tc.capacity, nil), tc.served)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestStaleNamesAreRemovedWhenTheKubeletHasLetGo(t *testing.T) {
	s, start := staleness{}, time.Unix(0, 0)
	stale := []string{"aipub.io/set-old"}
	if due, next := s.due(stale, start); len(due) != 0 || next != resync {
		t.Errorf("at once: due %v, next %s", due, next)
	}
	if due, next := s.due(stale, start.Add(resync)); len(due) != 0 || next != kubeletGrace-resync {
		t.Errorf("within the grace: due %v, next %s", due, next)
	}
	if due, _ := s.due(stale, start.Add(kubeletGrace)); len(due) != 1 {
		t.Errorf("after the grace: due %v", due)
	}
	s.due(nil, start.Add(kubeletGrace)) // served again
	if due, _ := s.due(stale, start.Add(kubeletGrace+time.Second)); len(due) != 0 {
		t.Errorf("stale anew: due %v", due)
	}
}

func TestRemovalPatch(t *testing.T) {
	cases := map[string]struct {
		capacity, allocatable map[string]string
		wantErr               bool
	}{
		"removed from both":                      {map[string]string{"aipub.io/set-old": "0", "cpu": "4"}, map[string]string{"aipub.io/set-old": "0", "cpu": "4"}, false},
		"removed where only the capacity has it": {map[string]string{"aipub.io/set-old": "0", "cpu": "4"}, map[string]string{"cpu": "4"}, false},
		"refused when it is served again":        {map[string]string{"aipub.io/set-old": "2", "cpu": "4"}, map[string]string{"aipub.io/set-old": "2", "cpu": "4"}, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			n := node(tc.capacity, tc.allocatable)
			raw, err := removalPatch(n, []string{"aipub.io/set-old"}, true)
			if err != nil {
				t.Fatal(err)
			}
			patch, err := jsonpatch.DecodePatch(raw)
			if err != nil {
				t.Fatal(err)
			}
			doc, err := json.Marshal(n)
			if err != nil {
				t.Fatal(err)
			}
			out, err := patch.Apply(doc)
			if (err != nil) != tc.wantErr {
				t.Fatalf("apply: %v, want an error: %v", err, tc.wantErr)
			}
			if tc.wantErr {
				return
			}
			var after corev1.Node
			if err := json.Unmarshal(out, &after); err != nil {
				t.Fatal(err)
			}
			want := corev1.ResourceList{"cpu": resource.MustParse("4")}
			if diff := cmp.Diff(want, after.Status.Capacity); diff != "" {
				t.Errorf("capacity: %s", diff)
			}
			if diff := cmp.Diff(want, after.Status.Allocatable); diff != "" {
				t.Errorf("allocatable: %s", diff)
			}
		})
	}
}
