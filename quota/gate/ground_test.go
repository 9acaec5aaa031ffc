// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"aipub.io/aipub/gpu"
	"aipub.io/aipub/quota"
	"aipub.io/aipub/quota/placement"
)

// percents are sets of which several sizes fit on one GPU, and no two orders of them
// fill it alike.
var percents = map[string]int64{"quarter": 25, "half": 50, "most": 75, "whole": 100}

// mixedNode has some GPUs that are cut into all of them.
func mixedNode(name string, gpus int) placement.Node {
	n := nodeOf(name, gpus)
	n.Layout.Slices = nil
	for i := range gpus {
		for _, set := range slices.Sorted(maps.Keys(percents)) {
			for slot := range 100 / percents[set] {
				n.Layout.Slices = append(n.Layout.Slices, gpu.Slice{
					ID: gpu.SliceID(fmt.Sprintf("%s-%d-%d", set, i, slot)), Set: set, Kind: gpu.KindBlock, GPUs: []string{fmt.Sprintf("GPU-%s-%d", name, i)},
					Uses: []gpu.Use{{Counter: gpu.Counter(fmt.Sprintf("gpu%d", i)), Amount: percents[set]}},
				})
			}
		}
	}
	return n
}

// TestWhatIsOnItsWayHasItsRoom opens pods of several sizes on a node that has yet to
// report them. In whatever order a snapshot has them, no more is opened than fits.
func TestWhatIsOnItsWayHasItsRoom(t *testing.T) {
	for seed := range uint64(1000) {
		r := rand.New(rand.NewPCG(seed, 3))
		s := snapshot([]placement.Node{mixedNode("a", 2)})
		s.Sizes = quota.Sizes{}
		for set, percent := range percents {
			s.Sizes[set] = quota.Units(252 * percent)
		}
		used, made := int64(0), 0
		for range 6 {
			s.Pending = nil
			asks := map[string]placement.Ask{}
			for range 1 + r.IntN(3) {
				made++
				p := pod(fmt.Sprintf("p%d", made), "vision", "alice", []string{"quarter", "half", "most", "whole"}[r.IntN(4)], 0)
				s.Pending, asks[p.Claim.UID] = append(s.Pending, p), p.Ask
			}
			for n, o := range Decide(s, 100).Open {
				o.Claim.Since = s.Now.Add(time.Duration(n))
				s.Charged = append(s.Charged, Charged{Claim: o.Claim, Grade: o.Grade, Node: o.Seat.Node, Ask: asks[o.Claim.UID]})
				for set := range o.Claim.Sets {
					used += percents[set]
				}
			}
			r.Shuffle(len(s.Charged), func(i, j int) { s.Charged[i], s.Charged[j] = s.Charged[j], s.Charged[i] })
			s.Now = s.Now.Add(time.Second)
		}
		if used > 200 {
			t.Fatalf("seed %d: pods of %d hundredths of a GPU were opened on two GPUs", seed, used)
		}
	}
}
