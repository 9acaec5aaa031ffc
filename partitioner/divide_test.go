// SPDX-License-Identifier: Apache-2.0

package partitioner

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/gpu"
)

// sizesText prints the sets of a division as "name: cpu memory".
func sizesText(d Division) map[string]string {
	out := map[string]string{}
	for _, s := range d.Sets {
		out[s.Name] = cores(s.CPUMilli) + " " + bytesOf(s.MemoryBytes)
	}
	return out
}

func TestDivide(t *testing.T) {
	block := []api.GPURule{{Mode: api.GPUBlock}}
	mig := []api.GPURule{{Mode: api.GPUMIG}}
	ignore := policy(nil, wholeSet("large", 1))
	ignore.NUMA = api.NUMAIgnore
	cases := map[string]struct {
		spec  api.PartitionPolicySpec
		nodes []Node
		want  map[string]string
	}{
		"a whole GPU gets its share in whole cores": {
			policy(nil, wholeSet("large", 1)), []Node{box("n", 30, 248, h200s(4, false), false)},
			map[string]string{"large": "7 62Gi"},
		},
		"several GPUs get several shares before rounding": {
			policy(nil, wholeSet("one", 1), wholeSet("two", 2)), []Node{box("n", 30, 256, h200s(4, false), false)},
			map[string]string{"one": "7 64Gi", "two": "15 128Gi"},
		},
		"three blocks of 30 percent get a third each": {
			policy(block, blockSet("third", 30)), []Node{box("n", 12, 96, h200s(1, false), false)},
			map[string]string{"third": "4 32Gi"},
		},
		"a mixture that fills the GPU sets the scale": {
			policy(block, blockSet("a", 30), blockSet("b", 70)), []Node{box("n", 100, 100, h200s(1, false), false)},
			map[string]string{"a": "30 30Gi", "b": "70 70Gi"},
		},
		"device memory can limit the mixture": {
			policy(block, func() api.SetTemplate {
				s := blockSet("a", 10)
				s.GPU.Memory = quantity("70Gi")
				return s
			}()), []Node{box("n", 100, 100, h200s(1, false), false)},
			map[string]string{"a": "50 50Gi"},
		},
		"two MIG instances of 3 slices get a half each": {
			policy(mig, migSet("half", 3, "")), []Node{box("n", 14, 128, h200s(1, false), false)},
			map[string]string{"half": "7 64Gi"},
		},
		"MIG instances get by compute slices": {
			policy(mig, migSet("a", 1, "18Gi"), migSet("b", 3, "")), []Node{box("n", 14, 140, h200s(1, false), false)},
			map[string]string{"a": "2 20Gi", "b": "6 60Gi"},
		},
		"below one core in steps of 10m, below 1 GiB in steps of 1 MiB": {
			policy(block, blockSet("tiny", 7)), []Node{box("n", 2, 4, h200s(1, false), false)},
			map[string]string{"tiny": "140m 292Mi"},
		},
		"each NUMA node is divided among its own GPUs": {
			policy(nil, wholeSet("large", 1)), []Node{box("n", 64, 512, []gpu.GPU{h200(0, 0), h200(1, 0), h200(2, 0), h200(3, 1)}, true)},
			map[string]string{"large": "10 " + bytesOf(roundMemory(256*gibibyte/3))},
		},
		"the node is divided as one where NUMA is to be ignored": {
			ignore, []Node{box("n", 64, 512, []gpu.GPU{h200(0, 0), h200(1, 0), h200(2, 0), h200(3, 1)}, true)},
			map[string]string{"large": "16 128Gi"},
		},
		"and where the place of one GPU is unknown": {
			policy(nil, wholeSet("large", 1)), []Node{box("n", 64, 512, []gpu.GPU{h200(0, 0), h200(1, 0), h200(2, 0), h200(3, -1)}, true)},
			map[string]string{"large": "16 128Gi"},
		},
		"the smallest node decides for all": {
			policy(nil, wholeSet("large", 1)), []Node{box("a", 64, 512, h200s(4, false), false), box("b", 32, 1024, h200s(4, false), false)},
			map[string]string{"large": "8 128Gi"},
		},
		"a node that has nothing to give does not decide": {
			policy(nil, wholeSet("large", 1)), []Node{box("a", 64, 512, h200s(4, false), false), box("b", 0, 512, h200s(4, false), false)},
			map[string]string{"large": "16 128Gi"},
		},
		"GPUs that no set can use get no share": {
			policy([]api.GPURule{{Indices: []int32{0}, Mode: api.GPUWhole}, {Mode: api.GPUBlock}}, wholeSet("large", 1)),
			[]Node{box("n", 64, 512, h200s(4, false), false)},
			map[string]string{"large": "64 512Gi"},
		},
		"reserve and CPU-only sets set aside come first": {
			func() api.PartitionPolicySpec {
				s := policy(nil, cpuSet("cpu", "2", "8Gi", 4), wholeSet("large", 1))
				s.Reserve = api.Reserve{CPU: quantity("8"), Memory: quantity("32Gi")}
				return s
			}(), []Node{box("n", 64, 512, h200s(4, false), false)},
			map[string]string{"cpu": "2 8Gi", "large": "12 112Gi"},
		},
		"a size that the policy gives is kept, the rest is computed": {
			policy(block, with(blockSet("a", 50), "3", ""), with(blockSet("b", 25), "", "5Gi")), []Node{box("n", 16, 64, h200s(1, false), false)},
			map[string]string{"a": "3 32Gi", "b": "4 5Gi"},
		},
		"without nodes there are no sizes": {policy(nil, wholeSet("large", 1)), nil, map[string]string{}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			d := Divide(tc.spec, tc.nodes)
			if diff := cmp.Diff(tc.want, sizesText(d)); diff != "" {
				t.Errorf("sizes (-want +got): %s\n%v", diff, d.Faults())
			}
		})
	}
}

func TestDivisionRefuses(t *testing.T) {
	cases := map[string]struct {
		spec   api.PartitionPolicySpec
		node   Node
		set    string
		reason string
		says   []string
	}{
		"a cpu that no zone has": {
			policy(nil, with(wholeSet("large", 1), "40", "")), box("n1", 64, 512, h200s(4, true), true), "large", api.ReasonSetDoesNotFit,
			[]string{"spec.sets[0].cpu: 40 is more than NUMA node 0 of node n1 has for GPU sets (32, even share 16)", "lower it"},
		},
		"a memory that the node does not have": {
			policy(nil, with(wholeSet("large", 1), "4", "600Gi")), box("n1", 64, 512, h200s(4, false), false), "large", api.ReasonSetDoesNotFit,
			[]string{"spec.sets[0].memory: 600Gi is more than the node of node n1 has"},
		},
		"more GPUs than there are": {
			policy(nil, wholeSet("huge", 8)), box("n1", 64, 512, h200s(4, false), false), "huge", api.ReasonSetDoesNotFit,
			[]string{"spec.sets[0].gpu.count: 8 is more than the whole GPUs of one model on node n1; at most 4"},
		},
		"more device memory than a GPU has": {
			policy([]api.GPURule{{Mode: api.GPUBlock}}, func() api.SetTemplate {
				s := blockSet("b", 50)
				s.GPU.Memory = quantity("200Gi")
				return s
			}()), box("n1", 64, 512, h200s(4, false), false), "b", api.ReasonSetDoesNotFit,
			[]string{"spec.sets[0].gpu.memory: 200Gi is more than any Block GPU of node n1 has (141Gi)"},
		},
		"no GPU in the mode": {
			policy(nil, blockSet("b", 50)), box("n1", 64, 512, h200s(4, false), false), "b", api.ReasonNoMatchingGPU,
			[]string{"spec.sets[0].gpu: no GPU of node n1 is in mode Block"},
		},
		"a model that the node does not have": {
			policy([]api.GPURule{{Models: []string{"NVIDIA B300"}, Mode: api.GPUBlock}}, blockSet("b", 50)), box("n1", 64, 512, h200s(4, false), false), "b", api.ReasonNoMatchingGPU,
			[]string{`spec.sets[0].gpu: spec.gpus[0] (models ["NVIDIA B300"]), which gives mode Block, matches no GPU of node n1, which has models ["NVIDIA H200"]`},
		},
		"indices that the node does not have": {
			policy([]api.GPURule{{Indices: []int32{9}, Mode: api.GPUBlock}}, blockSet("b", 50)), box("n1", 64, 512, h200s(4, false), false), "b", api.ReasonNoMatchingGPU,
			[]string{`spec.sets[0].gpu: spec.gpus[0] (indices [9]), which gives mode Block, matches no GPU of node n1, which has indices [0 1 2 3]`},
		},
		"more set aside than there is": {
			policy(nil, cpuSet("cpu", "4", "8Gi", 20), wholeSet("large", 1)), box("n1", 64, 512, h200s(4, false), false), "cpu", api.ReasonSetDoesNotFit,
			[]string{"spec.sets[0].perNode: 20 × (cpu 4, memory 8Gi) is more than node n1 has left; at most 16 fit"},
		},
		"a share that rounds to nothing": {
			policy([]api.GPURule{{Mode: api.GPUBlock}}, blockSet("b", 1)), box("n1", 1, 512, h200s(4, false), false), "b", api.ReasonSetDoesNotFit,
			[]string{"spec.sets[0].cpu: the even share of node n1 rounds to nothing", "10m"},
		},
		"a CPU-only set larger than the node": {
			policy(nil, cpuSet("cpu", "100", "8Gi", 0), wholeSet("large", 1)), box("n1", 64, 512, h200s(4, false), false), "cpu", api.ReasonSetDoesNotFit,
			[]string{"spec.sets[0]: cpu 100 and memory 8Gi is more than node n1 has (cpu 64, memory 512Gi)"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			d := Divide(tc.spec, []Node{tc.node})
			if _, ok := d.Set(tc.set); ok {
				t.Errorf("set %s has a size", tc.set)
			}
			for _, r := range d.Rejections {
				if r.Set == tc.set && r.Reason == tc.reason {
					for _, part := range tc.says {
						if !strings.Contains(r.Message, part) {
							t.Errorf("message %q does not say %q", r.Message, part)
						}
					}
					return
				}
			}
			t.Errorf("no rejection of %s for %s in %v", tc.set, tc.reason, d.Rejections)
		})
	}
}
