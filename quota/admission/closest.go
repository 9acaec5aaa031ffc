// SPDX-License-Identifier: Apache-2.0

package admission

import "aipub.io/aipub/quota"

// closestSet lists the names that a pod may ask for, closest to the wanted one first.
func closestSet(wanted string, names []string) string {
	if len(names) == 0 {
		return "none; ask the platform team for a PartitionPolicy"
	}
	return quota.Closest(wanted, names)
}
