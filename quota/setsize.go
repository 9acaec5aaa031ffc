// SPDX-License-Identifier: Apache-2.0

package quota

import (
	"k8s.io/apimachinery/pkg/api/resource"

	api "aipub.io/aipub/api/v1alpha1"
)

// SetSize is the CPU and memory that belong to a number of sets. Where one set has a
// whole core or more, CPU is rounded down to whole cores, since the kubelet pins and
// aligns only those.
func SetSize(set *api.ResourceSetSpec, count int64) (cpu, memory resource.Quantity) {
	milli := set.CPU.MilliValue() * count
	if set.CPU.MilliValue() >= 1000 {
		milli -= milli % 1000
	}
	return *resource.NewMilliQuantity(milli, resource.DecimalSI), *resource.NewQuantity(set.Memory.Value()*count, resource.BinarySI)
}
