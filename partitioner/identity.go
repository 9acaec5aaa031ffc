// SPDX-License-Identifier: Apache-2.0

package partitioner

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"

	"aipub.io/aipub/gpu"
)

// keyWidth is the number of hexadecimal digits by which an ID names a GPU.
const keyWidth = 8

// maxKeyWidth is how far a key grows to tell apart what shares its first digits.
const maxKeyWidth = 16

// maxSetName is the longest set name that leaves room for the rest of an ID.
const maxSetName = 40

// cpuKey stands in the ID of a CPU-only slice where others have their GPU's
// key. It is not hexadecimal of keyWidth digits, so it is never a GPU's.
const cpuKey = "cpu"

// keysOf names each identity by the first digits of its hash: width of them, or
// twice as many (up to 16) for all that would share a key. So a key depends on its own
// identity only, but for a collision. Preconditions: identities are distinct.
func keysOf(identities []string, width int) []string {
	sums := make([]string, len(identities))
	for i, id := range identities {
		h := sha256.Sum256([]byte(id))
		sums[i] = hex.EncodeToString(h[:])
	}
	keys := make([]string, len(sums))
	pending := make([]int, len(sums))
	for i := range pending {
		pending[i] = i
	}
	for w := width; len(pending) > 0 && w <= maxKeyWidth; w *= 2 {
		shared := map[string]int{}
		for _, i := range pending {
			keys[i] = sums[i][:w]
			shared[keys[i]]++
		}
		pending = slices.DeleteFunc(pending, func(i int) bool { return shared[keys[i]] == 1 })
	}
	return keys
}

// groupIdentity is the identity of several GPUs together, whatever their order.
func groupIdentity(uuids []string) string {
	sorted := slices.Sorted(slices.Values(uuids))
	return strings.Join(sorted, "+")
}

// sliceID names a slice by key, set and slot: unique because no key and no slot
// contains '-', the same for as long as these three are.
func sliceID(key, set string, slot int) gpu.SliceID {
	return gpu.SliceID(key + "-" + set + "-" + strconv.Itoa(slot))
}

// validSetName reports whether a name can be part of an ID and of a resource
// name: lower-case letters, digits and '-', at most 40, no '-' at either end.
func validSetName(name string) bool {
	if name == "" || len(name) > maxSetName || name[0] == '-' || name[len(name)-1] == '-' {
		return false
	}
	return strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-") == ""
}
