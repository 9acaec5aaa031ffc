// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/gpu"
)

// setTable has a row for each set.
func setTable(sets []api.ResourceSet) *metav1.Table {
	t := columns("Name", "Resource", "CPU", "Memory", "GPU", "Free", "Held", "Total", "Status", "+GPU share", "+Policies", "+Free on node")
	for _, s := range sets {
		addRow(t, s.Name, s.Spec.ResourceName, s.Spec.CPU.String(), memory(s.Spec.Memory.Value()), gpuWords(s.Spec.GPU),
			itoa(s.Status.Free), itoa(s.Status.Held), itoa(s.Status.Total), statusWord(s.Status.Conditions),
			inGPUs(s.Spec.GPUUnits), strings.Join(s.Spec.Policies, ","), onNodes(s.Status.Nodes))
	}
	return t
}

// inGPUs is what one set counts in quotas on GPU-equivalents, rounded to
// thousandths: "0.25", "0.143", "2".
func inGPUs(units int64) string {
	thousandths := (units*1000 + gpu.UnitsPerGPU/2) / gpu.UnitsPerGPU
	return strconv.FormatFloat(float64(thousandths)/1000, 'f', -1, 64)
}

// onNodes is "gpu-01 3/4, gpu-02 0/4": free and total.
func onNodes(nodes []api.SetOnNode) string {
	words := make([]string, len(nodes))
	for i, n := range nodes {
		words[i] = fmt.Sprintf("%s %d/%d", n.Name, n.Free, n.Total)
	}
	return strings.Join(words, ", ")
}

// remainderTable has what each node could not hand out.
func remainderTable(partitions []api.NodePartition) *metav1.Table {
	t := columns("Node", "CPU left over", "Memory left over")
	for _, np := range partitions {
		addRow(t, np.Name, cpuOf(np.Status.Remainder.CPU), memoryOf(np.Status.Remainder.Memory))
	}
	return t
}

// describeSets prints everything about the sets, one after the other.
func (a *app) describeSets(sets []api.ResourceSet, f facts, out *output) error {
	var b bytes.Buffer
	for i, s := range sets {
		if i > 0 {
			fmt.Fprintln(&b)
		}
		writeFields(&b, setFields(s))
		if err := out.tables(&b, setNodeTable(s, f.partitions.Items)); err != nil {
			return err
		}
	}
	return a.show(&b)
}

func setFields(s api.ResourceSet) []field {
	fields := []field{
		{"Set", s.Name},
		{"Resource", s.Spec.ResourceName},
		{"CPU", s.Spec.CPU.String()},
		{"Memory", s.Spec.Memory.String()},
		{"GPU", gpuWords(s.Spec.GPU)},
		{"GPU share", inGPUs(s.Spec.GPUUnits)},
	}
	if s.Spec.GPU != nil && s.Spec.GPU.BlockPercent != nil {
		fields = append(fields, field{"Sharing", sharingWords(s.Spec.Sharing)})
	}
	fields = append(fields,
		field{"Policies", orElse(strings.Join(s.Spec.Policies, ", "), "none")},
		field{"Free", fmt.Sprintf("%d of %d, %d held", s.Status.Free, s.Status.Total, s.Status.Held)},
		field{"Status", statusWord(s.Status.Conditions)})
	if c := meta.FindStatusCondition(s.Status.Conditions, api.ConditionReady); c != nil && !ready(s) && c.Message != "" {
		fields = append(fields, field{"Reason", c.Message})
	}
	return fields
}

// sharingWords says what a block set may lend and borrow; both by default.
func sharingWords(s *api.Sharing) string {
	lend, borrow, most := true, true, int32(100)
	if s != nil {
		lend, borrow = s.Lend == nil || *s.Lend, s.Borrow == nil || *s.Borrow
		if s.MaxPercent != nil {
			most = *s.MaxPercent
		}
	}
	words := "may lend what is idle"
	if !lend {
		words = "must not lend"
	}
	switch {
	case !borrow:
		words += ", must not borrow"
	case most < 100:
		words = fmt.Sprintf("%s, may borrow up to %d%% of a GPU", words, most)
	default:
		words += ", may borrow"
	}
	switch {
	case s == nil || s.BorrowMemory == nil || !*s.BorrowMemory:
		return words
	case s.MaxMemory != nil:
		return fmt.Sprintf("%s, device memory up to %s too", words, s.MaxMemory)
	}
	return words + ", device memory too"
}

// setNodeTable has the counts of each node and what it could not hand out.
func setNodeTable(s api.ResourceSet, partitions []api.NodePartition) *metav1.Table {
	t := columns("Node", "Free", "Held", "Total", "CPU left over", "Memory left over")
	for _, n := range s.Status.Nodes {
		cpu, mem := "", ""
		if i := slices.IndexFunc(partitions, func(np api.NodePartition) bool { return np.Name == n.Name }); i >= 0 {
			r := partitions[i].Status.Remainder
			cpu, mem = cpuOf(r.CPU), memoryOf(r.Memory)
		}
		addRow(t, n.Name, itoa(n.Free), itoa(n.Held), itoa(n.Total), cpu, mem)
	}
	return t
}

// statusWord is Ready, the reason for not being so, or Unknown.
func statusWord(conditions []metav1.Condition) string {
	c := meta.FindStatusCondition(conditions, api.ConditionReady)
	switch {
	case c == nil:
		return reasonUnknown
	case c.Status == metav1.ConditionTrue:
		return "Ready"
	}
	return orElse(c.Reason, "NotReady")
}

func ready(s api.ResourceSet) bool {
	return meta.IsStatusConditionTrue(s.Status.Conditions, api.ConditionReady)
}

func itoa(n int32) string { return strconv.Itoa(int(n)) }
