// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	api "aipub.io/aipub/api/v1alpha1"
)

// describeNode prints everything about one node.
func (a *app) describeNode(v nodeView, out *output) error {
	if err := printFields(a.Out, nodeFields(v)); err != nil {
		return err
	}
	if v.partition == nil {
		return nil
	}
	s := v.partition.Status
	if len(s.GPUs) > 0 || len(s.Slices) > 0 {
		fmt.Fprintln(a.Out)
		if err := out.rows(gpuTable(s), a.Out); err != nil {
			return err
		}
	}
	if len(s.Slices) == 0 {
		return nil
	}
	fmt.Fprintln(a.Out)
	return out.rows(sliceTable([]nodeView{v}, false, a.now()), a.Out)
}

// field is a line of a description.
type field struct{ name, value string }

// printFields prints names and values in two columns.
func printFields(out io.Writer, fields []field) error {
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	for _, f := range fields {
		fmt.Fprintf(w, "%s:\t%s\n", f.name, f.value)
	}
	if err := w.Flush(); err != nil {
		return fmt.Errorf("print: %w", err)
	}
	return nil
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
		field{"Left over", fmt.Sprintf("cpu %s, memory %s", cpuOf(s.Remainder.CPU), memoryOf(s.Remainder.Memory))},
	)
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
