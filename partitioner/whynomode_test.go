// SPDX-License-Identifier: Apache-2.0

package partitioner

import (
	"strings"
	"testing"

	api "aipub.io/aipub/api/v1alpha1"
)

// What a GPU offers is a long list: it is said once, at the rule, and not again
// at each set.
func TestWhatAGPUOffersIsSaidOnce(t *testing.T) {
	spec := policy([]api.GPURule{{Mode: api.GPUMIG}}, migSet("odd", 1, "50Gi"), migSet("odder", 5, ""))
	_, r := planned(t, migNode(sevenOfEight(16.5)), spec)
	lists, sets := 0, 0
	for _, rej := range r.Rejections {
		if strings.Contains(rej.Message, "7g (computeSlices 7") {
			lists++
		}
		if strings.HasSuffix(rej.Message, "is no instance of NVIDIA H200; the rejection of spec.gpus[0].mode lists what it offers") {
			sets++
		}
	}
	if lists != 1 || sets != 2 {
		t.Errorf("the list is said %d times, want once; %d sets refer to it, want 2: %+v", lists, sets, r.Rejections)
	}
}
