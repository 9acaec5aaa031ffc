// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"maps"
	"slices"

	"aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/quota/admission"
	quotakube "aipub.io/aipub/quota/kube"
)

// ledger answers admission from what this replica knows of the quotas.
type ledger struct{ watch *quotakube.Watch }

// Fits implements admission.Ledger.
func (l ledger) Fits(_ context.Context, ask admission.Ask) admission.Refusals {
	set := ""
	if names := slices.Sorted(maps.Keys(ask.Sets)); len(names) > 0 {
		set = names[0]
	}
	var refusals admission.Refusals
	for _, short := range l.watch.Fits(ask.Workload, ask.Party, ask.Sets, ask.Count) {
		refusals = append(refusals, admission.Refusal{
			Reason: admission.Reason(short.Reason), Field: "resources.limits[" + v1alpha1.ResourcePrefix + set + "]", Detail: short.Sentence,
		})
	}
	return refusals
}
