// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"

	"aipub.io/aipub/sharer"
)

// worstFirst are the reasons that say more of a container than what it does. The
// node agent has these words in sharer/attach.
var worstFirst = []string{
	"OverMemory", "NotAttached", "WrongSlice", "UnaccountedTime", "UnaccountedMemory", "DamagedPage",
}

// worst is the reason that matters most, "" without any. grave is that it is one
// of worstFirst; the others keep the order in which they were found.
func worst(all []sharer.FindingReport) (reason string, grave bool) {
	for _, r := range worstFirst {
		if found(all, r) {
			return r, true
		}
	}
	if len(all) == 0 {
		return "", false
	}
	return all[0].Reason, false
}

// pastLimiter reports whether work is done that the agent does not count.
func pastLimiter(all []sharer.FindingReport) bool {
	return slices.ContainsFunc([]string{"NotAttached", "WrongSlice", "UnaccountedTime"}, func(r string) bool { return found(all, r) })
}

func found(all []sharer.FindingReport, reason string) bool {
	return slices.ContainsFunc(all, func(f sharer.FindingReport) bool { return f.Reason == reason })
}
