// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "aipub.io/aipub/api/v1alpha1"
)

// describeNodes prints everything about the nodes, one after the other.
func (a *app) describeNodes(views []nodeView, out *output) error {
	var b bytes.Buffer
	for i, v := range views {
		if i > 0 {
			fmt.Fprintln(&b)
		}
		writeFields(&b, nodeFields(v))
		if v.partition == nil {
			continue
		}
		tables := []*metav1.Table{gpuTable(v.partition.Status), sliceTable([]nodeView{v}, false, a.now())}
		if err := out.tables(&b, tables...); err != nil {
			return err
		}
	}
	return a.show(&b)
}

// field is a line of a description.
type field struct{ name, value string }

// writeFields writes names and values in two columns.
func writeFields(b *bytes.Buffer, fields []field) {
	width := 0
	for _, f := range fields {
		width = max(width, len(f.name)+1)
	}
	for _, f := range fields {
		fmt.Fprintf(b, "%-*s  %s\n", width, f.name+":", f.value)
	}
}

func nodeFields(v nodeView) []field {
	fields := []field{{"Node", v.name}, {"Status", v.verdict.word()}}
	if !v.verdict.ready {
		fields = append(fields, field{"Reason", v.verdict.sentence})
	}
	if v.partition == nil {
		return append(fields, field{"Policy", orElse(policyNames(v), "none")})
	}
	s := v.partition.Status
	policy := "none"
	if s.Policy != "" {
		policy = fmt.Sprintf("%s (generation %d)", s.Policy, s.PolicyGeneration)
	}
	fields = append(fields,
		field{"Policy", policy},
		field{"Driver", orElse(s.DriverVersion, "unknown")},
		field{"Agent", orElse(s.AgentVersion, "unknown")},
		field{"NUMA", numaNodes(s.NUMA)},
	)
	if left := s.Remainder; left.CPU != nil || left.Memory != nil {
		fields = append(fields, field{"Left over", fmt.Sprintf("cpu %s, memory %s", cpuOf(left.CPU), memoryOf(left.Memory))})
	}
	for _, g := range sortedGPUs(s) {
		if !g.Health.OK {
			fields = append(fields, field{fmt.Sprintf("GPU %d", g.Index), strings.TrimSuffix(healthWords(g.Health)+": "+g.Health.Message, ": ")})
		}
	}
	for _, r := range s.Rejections {
		fields = append(fields, field{"Refused", rejectionWords(r)})
	}
	return fields
}

// numaNodes is "0: 32 CPUs, 251Gi; 1: ...".
func numaNodes(nodes []api.NUMANode) string {
	if len(nodes) == 0 {
		return "unknown"
	}
	var words []string
	for _, n := range nodes {
		words = append(words, fmt.Sprintf("node %d with %s and %s", n.ID, plural(int(n.CPUs), "CPU"), memory(n.Memory.Value())))
	}
	return strings.Join(words, "; ")
}
