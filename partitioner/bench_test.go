// SPDX-License-Identifier: Apache-2.0

package partitioner

import (
	"testing"

	api "aipub.io/aipub/api/v1alpha1"
)

// BenchmarkPlan plans a node of 16 GPUs. The bound is 1 ms per node (bars.md,
// node.plan_us).
func BenchmarkPlan(b *testing.B) {
	mig := []api.GPURule{{Mode: api.GPUMIG}}
	mixed := []api.GPURule{
		{Indices: []int32{0, 1, 2, 3, 4, 5}, Mode: api.GPUBlock},
		{Indices: []int32{6, 7, 8, 9, 10, 11}, Mode: api.GPUMIG},
	}
	migSets := []api.SetTemplate{
		migSet("m1", 1, "16Gi"), migSet("m1d", 1, "33Gi"), migSet("m2", 2, ""), migSet("m3", 3, ""), migSet("m4", 4, ""), migSet("m7", 7, ""),
	}
	cases := map[string]api.PartitionPolicySpec{
		"mig":                policy(mig, migSets...),
		"mixed":              policy(mixed, append(migSets, blockSet("b10", 10), blockSet("b25", 25), blockSet("b50", 50), wholeSet("w1", 1), wholeSet("w2", 2), wholeSet("w4", 4), cpuSet("c", "1", "1Gi", 4))...),
		"one percent blocks": policy([]api.GPURule{{Mode: api.GPUBlock}}, blockSet("b1", 1), blockSet("b5", 5), blockSet("b100", 100)),
	}
	n := box("n", 192, 2048, h200s(16, true), true)
	for name, spec := range cases {
		sets := Divide(spec, []Node{n}).Sets
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Plan(n, spec, sets)
			}
		})
	}
}

// BenchmarkDivide divides a pool of 1000 nodes of 8 GPUs.
func BenchmarkDivide(b *testing.B) {
	var nodes []Node
	for range 1000 {
		nodes = append(nodes, box("n", 192, 2048, h200s(8, true), true))
	}
	for b.Loop() {
		Divide(example(), nodes)
	}
}
