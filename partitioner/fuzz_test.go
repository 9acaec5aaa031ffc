// SPDX-License-Identifier: Apache-2.0

package partitioner

import (
	"encoding/json"
	"testing"

	api "aipub.io/aipub/api/v1alpha1"
)

// FuzzPlan plans whatever a policy and a node can be made to say, valid or not:
// it never panics, and what it plans is well-formed.
func FuzzPlan(f *testing.F) {
	for seed := range uint64(20) {
		g := newGenerator(seed)
		n, spec := g.node("n"), g.policy(true)
		f.Add(mustJSON(f, n), mustJSON(f, spec))
	}
	f.Add(mustJSON(f, box("n", 96, 1024, h200s(3, true), true)), mustJSON(f, example()))
	f.Fuzz(func(t *testing.T, nodeText, specText []byte) {
		var n Node
		var spec api.PartitionPolicySpec
		if json.Unmarshal(nodeText, &n) != nil || json.Unmarshal(specText, &spec) != nil {
			return
		}
		if len(n.GPUs) > 64 || len(spec.Sets) > 32 {
			return
		}
		Validate(spec)
		d := Divide(spec, []Node{n})
		l, _ := Plan(n, spec, d.Sets)
		if err := checkLayout(l); err != nil {
			t.Error(err)
		}
	})
}

func mustJSON(tb testing.TB, v any) []byte {
	tb.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		tb.Fatal(err)
	}
	return b
}
