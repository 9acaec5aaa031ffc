// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/quota/placement"
)

// world is a cluster that lives through random arrivals, ends and decisions.
type world struct {
	Snapshot
	r    *rand.Rand
	next int
}

func newWorld(seed uint64) *world {
	w := &world{r: rand.New(rand.NewPCG(seed, 7))}
	w.Now, w.Sizes = noon, sizes
	for i := range 3 {
		w.Nodes = append(w.Nodes, nodeOf(fmt.Sprintf("n%d", i), 2))
	}
	for i, p := range []string{"vision", "speech"} {
		w.Quotas = append(w.Quotas, projectQuota(p, "small", int32(4+w.r.IntN(12))), userQuota(p, "u0", "small", int32(1+w.r.IntN(6))))
		w.Queues = append(w.Queues, queueOf(p, []api.QueuePolicy{api.FirstAllocating, api.FirstScheduling}[w.r.IntN(2)], int32(i), 300))
	}
	minRun := int32(60)
	w.Quotas[1].Spec.Borrowing = &api.Borrowing{MinRunSeconds: &minRun}
	return w
}

// arrive adds a workload of some pods.
func (w *world) arrive() {
	w.next++
	set := []string{"small", "small", "large"}[w.r.IntN(3)]
	list := pods(fmt.Sprintf("w%d", w.next), []string{"vision", "speech"}[w.r.IntN(2)], fmt.Sprintf("u%d", w.r.IntN(3)), set, 0, 1+w.r.IntN(4))
	operating := w.r.IntN(4) == 0
	if operating {
		list = operation("rs", list...)
		w.Floors = append(w.Floors, floorOf(list[0], int64(1+w.r.IntN(2))))
	}
	gang := w.r.IntN(3) == 0
	for i := range list {
		list[i].Created, list[i].Claim.Since = w.Now, w.Now
		if gang && !operating {
			list[i].Gang = len(list)
		}
	}
	w.Pending = append(w.Pending, list...)
}

// step lets time pass and pods end.
func (w *world) step() {
	w.Now = w.Now.Add(time.Duration(w.r.IntN(200)) * time.Second)
	var still []Charged
	for _, c := range w.Charged {
		if !c.Leaving && w.r.IntN(5) > 0 {
			still = append(still, c)
		}
	}
	w.Charged = still
	for range w.r.IntN(4) {
		w.arrive()
	}
}

// carryOut does what a plan says.
func (w *world) carryOut(p Plan) {
	asks := map[string]placement.Ask{}
	opened := map[string]bool{}
	for _, x := range w.Pending {
		asks[x.Claim.UID] = x.Ask
	}
	for _, o := range p.Open {
		opened[o.Claim.UID] = true
		w.Charged = append(w.Charged, Charged{Claim: o.Claim, Grade: o.Grade, Node: o.Seat.Node, Ask: asks[o.Claim.UID]})
	}
	var rest []Pending
	for _, x := range w.Pending {
		if !opened[x.Claim.UID] {
			rest = append(rest, x)
		}
	}
	w.Pending = rest
	for _, v := range p.Yield {
		for i := range w.Charged {
			if w.Charged[i].Claim.UID == v.Claim.UID {
				w.Charged[i].Leaving = true
			}
		}
	}
}

// checkNodes counts what was opened on each node against its GPUs.
func (w *world) checkNodes(t *testing.T) {
	t.Helper()
	used := map[string]int64{}
	for _, c := range w.Charged {
		for set, n := range c.Claim.Sets {
			used[c.Node] += n * int64(sizes[set])
		}
	}
	for node, units := range used {
		if units > 2*25200 {
			t.Errorf("node %s holds %d units of %d", node, units, 2*25200)
		}
	}
}

// checkGangs sees that a gang that started did so as a whole.
func checkGangs(t *testing.T, s Snapshot, p Plan) {
	t.Helper()
	has, gangs := map[string]int{}, map[string]int{}
	for _, c := range s.Charged {
		has[c.Claim.Workload.UID]++
	}
	for _, x := range s.Pending {
		gangs[x.Claim.Workload.UID] = x.Gang
	}
	before := map[string]int{}
	for _, o := range p.Open {
		uid := o.Claim.Workload.UID
		if _, seen := before[uid]; !seen {
			before[uid] = has[uid]
		}
		has[uid]++
	}
	for uid, n := range before {
		if gangs[uid] > 1 && n < gangs[uid] && has[uid] < gangs[uid] {
			t.Errorf("gang %s of %d was opened to %d", uid, gangs[uid], has[uid])
		}
	}
}

// TestRandomLives checks every plan of random lives, and that a keeper, which goes on
// from one to the next, decides as if it began anew each time.
func TestRandomLives(t *testing.T) {
	for seed := range uint64(60) {
		w := newWorld(seed)
		var keeper Keeper
		opens := 0
		for range 40 {
			w.step()
			most := []int{3, 1000}[w.r.IntN(2)]
			plan, anew := keeper.Decide(w.Snapshot, most), Decide(w.Snapshot, most)
			if !reflect.DeepEqual(plan, anew) {
				t.Fatalf("seed %d: a keeper decides otherwise:\n%+v\n%+v", seed, plan, anew)
			}
			check(t, w.Snapshot, plan)
			checkGangs(t, w.Snapshot, plan)
			w.carryOut(plan)
			w.checkNodes(t)
			opens += len(plan.Open)
			if t.Failed() {
				t.Fatalf("seed %d", seed)
			}
		}
		if opens < 20 {
			t.Errorf("seed %d: only %d gates were opened, which tests little", seed, opens)
		}
	}
}
