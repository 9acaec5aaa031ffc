// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"

	"aipub.io/aipub/quota/admission"
	quotakube "aipub.io/aipub/quota/kube"
)

// ledger answers admission from what this replica knows of the quotas.
type ledger struct{ watch *quotakube.Watch }

// Fits implements admission.Ledger.
func (l ledger) Fits(_ context.Context, ask admission.Ask) admission.Refusals {
	fits := l.watch.Fits
	if ask.Whole {
		fits = l.watch.FitsWhole
	}
	var refusals admission.Refusals
	for _, short := range fits(ask.Workload, ask.Party, ask.Sets, ask.Count) {
		refusals = append(refusals, admission.Refusal{Reason: admission.Reason(short.Reason), Field: ask.Field, Detail: short.Sentence})
	}
	return refusals
}
