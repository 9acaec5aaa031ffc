// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"strings"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/partitioner"
	"aipub.io/aipub/partitioner/mig"
)

// outcome is the typed reason and the sentence for an apply without error.
func outcome(t *told, pending []string, waiting []partitioner.Waiting) (reason, message string) {
	switch {
	case t.policy == nil:
		return api.ReasonNoPolicy, "no PartitionPolicy selects this node; label it, or change a policy's nodeSelector"
	case len(waiting) > 0:
		return api.ReasonWaitingForIdle, waitingMessage(waiting)
	case len(t.report.Rejections) > 0:
		r := t.report.Rejections[0]
		return r.Reason, r.Message
	case len(pending) > 0:
		return api.ReasonPending, fmt.Sprintf("waiting for the controller to size %s (kubectl get partitionpolicy %s says more)", strings.Join(pending, ", "), t.policy.Name)
	}
	return api.ReasonApplied, "the node is divided as the policy says"
}

func waitingMessage(waiting []partitioner.Waiting) string {
	var parts []string
	for _, w := range waiting {
		ids := make([]string, len(w.Held))
		for i, id := range w.Held {
			ids[i] = string(id)
		}
		parts = append(parts, fmt.Sprintf("GPU %s until %s ends", w.GPU, strings.Join(ids, ", ")))
	}
	return "keeps its present cut: " + strings.Join(parts, "; ")
}

// explain is the typed reason and the sentence for an apply that went wrong.
// waits says that nothing is wrong but that something is in use.
func explain(err error) (reason, message string, waits bool) {
	if errors.Is(err, errOpening) {
		return api.ReasonPending, err.Error(), false
	}
	var faults, inUse []error
	for _, e := range flatten(err) {
		if isInUse(e) {
			inUse = append(inUse, e)
		} else {
			faults = append(faults, e)
		}
	}
	if len(faults) > 0 {
		return api.ReasonHardware, sentence(faults), false
	}
	return api.ReasonWaitingForIdle, sentence(inUse), true
}

// isInUse reports whether an error ends when somebody's use ends.
func isInUse(err error) bool {
	var step *partitioner.StepError
	var inUse *mig.InUseError
	return errors.As(err, &step) && step.Reason == api.ReasonWaitingForIdle || errors.As(err, &inUse)
}

// flatten takes joined errors apart.
func flatten(err error) []error {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok || !strings.Contains(err.Error(), "\n") {
		return []error{err}
	}
	var all []error
	for _, e := range joined.Unwrap() {
		all = append(all, flatten(e)...)
	}
	return all
}

// sentence is the first of several errors, and how many more there are.
func sentence(errs []error) string {
	first, _, _ := strings.Cut(errs[0].Error(), "\n")
	if len(errs) == 1 {
		return first
	}
	return fmt.Sprintf("%s (and %d more)", first, len(errs)-1)
}
