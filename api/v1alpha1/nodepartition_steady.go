// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import "slices"

// Steady is the status without what agents write anew now and then while nothing but
// the use of slices changes: their share and their activity. It shares memory with s;
// neither is to be changed.
func (s *NodePartitionStatus) Steady() NodePartitionStatus {
	out := *s
	out.Slices = slices.Clone(s.Slices)
	for i := range out.Slices {
		out.Slices[i].Share, out.Slices[i].Activity = nil, nil
	}
	return out
}
