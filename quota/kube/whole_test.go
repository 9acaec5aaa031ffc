// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/quota"
)

const wholeGPU = 25200 // units

// A workload whose pods are to ask for a larger set gives back what they hold.
func TestWhatAWorkloadHoldsCountsForIt(t *testing.T) {
	limit := resource.MustParse("1")
	q := api.ResourceSetQuota{}
	q.Name, q.Spec.Scope.Project, q.Spec.Limits.GPU = "vision", "vision", &limit
	party := quota.Party{Project: "vision", User: "alice", Type: api.TypeWorkspace}
	lab, other := quota.Workload{Kind: "Workspace", Name: "lab", UID: "lab"}, quota.Workload{Kind: "Workspace", Name: "other", UID: "other"}
	book := quota.NewBook([]api.ResourceSetQuota{q}, quota.Sizes{"small": wholeGPU / 4, "large": wholeGPU})
	book.Charge(quota.Claim{UID: "lab-0", Workload: lab, Party: party, Sets: map[string]int64{"small": 1}}, quota.Within)
	w := &Watch{}
	if short := w.FitsWhole(lab, party, map[string]int64{"large": 1}, 1); short != nil {
		t.Errorf("refused before anything is known: %v", short)
	}
	w.books.book, w.books.sees = book, func(string, string) func(string) bool { return func(string) bool { return true } }
	if short := w.FitsWhole(lab, party, map[string]int64{"large": 1}, 1); len(short) > 0 {
		t.Errorf("refused, although its own share is free then: %v", short)
	}
	for name, short := range map[string][]Short{
		"two of them":     w.FitsWhole(lab, party, map[string]int64{"large": 2}, 1),
		"another's share": w.FitsWhole(other, party, map[string]int64{"large": 1}, 1),
	} {
		if len(short) != 1 || short[0].Quota != "vision" || strings.Contains(short[0].Sentence, "Wait") {
			t.Errorf("%s: %+v", name, short)
		}
	}
}
