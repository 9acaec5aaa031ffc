// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/gpu"
	"aipub.io/aipub/quota"
)

// settling is a world in which nobody new comes and nothing ends by itself: what
// yields ends after a while, and is made again at once in its workload's place.
type settling struct {
	*world
	again, asked int
	// within counts the pods that were opened within their quotas, promised how many
	// there must be in the end: one for each workload that others went for.
	within, promised int
}

func newSettling(seed uint64) *settling {
	r := rand.New(rand.NewPCG(seed, 11))
	w := &settling{world: &world{r: r}}
	w.Now, w.Sizes = noon, sizes
	for i := range 3 {
		w.Nodes = append(w.Nodes, nodeOf(fmt.Sprintf("n%d", i), 2))
	}
	for i, p := range []string{"vision", "speech"} {
		w.Queues = append(w.Queues, queueOf(p, []api.QueuePolicy{api.FirstAllocating, api.FirstScheduling}[r.IntN(2)], int32(r.IntN(2)*i), 300))
		w.Quotas = append(w.Quotas, projectQuota(p, "small", int32(8+r.IntN(20))), lending(userQuota(p, "u0", "small", int32(r.IntN(3)))))
	}
	// First those who borrow and the headroom come, and fill the nodes.
	for i := range 2 + r.IntN(3) {
		w.workload(fmt.Sprintf("early%d", i), "u0", "small", 1+r.IntN(10), i%3 == 2)
	}
	return w
}

// workload adds one, of some project.
func (w *settling) workload(name, user, set string, n int, operating bool) {
	list := pods(name, []string{"vision", "speech"}[w.r.IntN(2)], user, set, 0, n)
	if operating {
		list = operation("rs", list...)
		w.Floors = append(w.Floors, floorOf(list[0], 1))
	}
	gang := !operating && w.r.IntN(4) == 0
	for i := range list {
		list[i].Created, list[i].Claim.Since = w.Now, w.Now
		if gang {
			list[i].Gang = min(n, 3)
		}
	}
	w.Pending = append(w.Pending, list...)
}

// round decides, carries out, and lets some of those that go end.
func (w *settling) round(t *testing.T, k *Keeper) (quiet bool) {
	t.Helper()
	p := k.Decide(w.Snapshot, 1000)
	check(t, w.Snapshot, p)
	checkGangs(t, w.Snapshot, p)
	w.checkVictims(t, p)
	for _, o := range p.Open {
		if o.Grade == quota.Within {
			w.within++
		}
		for _, id := range o.Seat.Slices {
			w.held(o.Seat.Node)[id] = o.Claim.Namespace + "/" + o.Claim.Name
		}
	}
	victims, forWhom := map[string]bool{}, map[string]bool{}
	for _, v := range p.Yield {
		victims[v.Claim.UID] = true
	}
	for _, x := range w.Pending {
		if slices.Contains(p.Freed, x.Claim.UID) {
			forWhom[x.Claim.Workload.UID] = true
		}
	}
	w.asked += len(p.Yield)
	w.promised = max(w.promised, w.within+len(forWhom))
	for i := range w.Pending {
		w.Pending[i].Freed = w.Pending[i].Freed || slices.Contains(p.Freed, w.Pending[i].Claim.UID)
	}
	w.carryOut(p)
	for _, c := range w.Charged {
		if victims[c.Claim.UID] {
			w.makeAgain(c)
		}
	}
	w.checkNodes(t)
	leaving := false
	var still []Charged
	for _, c := range w.Charged {
		if c.Leaving && w.r.IntN(2) == 0 {
			maps.DeleteFunc(w.held(c.Node), func(_ gpu.SliceID, by string) bool { return by == c.Claim.Namespace+"/"+c.Claim.Name })
			continue
		}
		leaving = leaving || c.Leaving
		still = append(still, c)
	}
	w.Charged = still
	w.Now = w.Now.Add(time.Duration(w.r.IntN(700)) * time.Second)
	return len(p.Open) == 0 && len(p.Yield) == 0 && !leaving
}

// held is what a node's agent reports.
func (w *settling) held(node string) map[gpu.SliceID]string {
	for i := range w.Nodes {
		if w.Nodes[i].Name == node {
			return w.Nodes[i].Held
		}
	}
	return nil
}

// makeAgain adds the pod that a controller makes in place of one that goes.
func (w *settling) makeAgain(c Charged) {
	w.again++
	p := Pending{Claim: c.Claim, Ask: c.Ask, Created: noon}
	p.Claim.UID, p.Claim.Name = fmt.Sprintf("again-%d", w.again), fmt.Sprintf("again-%d", w.again)
	p.Claim.Since = w.Now
	p.Ask.UID, p.Ask.Name = p.Claim.UID, p.Claim.Name
	w.Pending = append(w.Pending, p)
}

// checkVictims sees that only those go that borrowed for long enough, or are beyond a
// minimum, and nobody twice.
func (w *settling) checkVictims(t *testing.T, p Plan) {
	t.Helper()
	charged, has, seen := map[string]Charged{}, map[string]int{}, map[string]bool{}
	for _, c := range w.Charged {
		charged[c.Claim.UID] = c
		if !c.Leaving {
			has[c.Claim.Workload.UID]++
		}
	}
	for _, v := range p.Yield {
		c, ok := charged[v.Claim.UID]
		switch {
		case !ok || c.Leaving || seen[v.Claim.UID]:
			t.Errorf("%s is asked to go, and goes already or is not there", v.Claim.Name)
		case v.Reason == api.ReasonYieldedBorrowed && (c.Grade != quota.Borrowed || w.Now.Sub(c.Claim.Since) < 10*time.Minute):
			t.Errorf("%s of grade %s yields after %s", v.Claim.Name, c.Grade, w.Now.Sub(c.Claim.Since))
		case v.Reason == api.ReasonYieldedHeadroom:
			if has[v.Claim.Workload.UID]--; has[v.Claim.Workload.UID] < 1 {
				t.Errorf("%s yields the minimum of its workload", v.Claim.Name)
			}
		}
		seen[v.Claim.UID] = true
	}
}

// TestYieldingSettles has those within their quotas come to full nodes. For each
// workload that others go for on nodes, a pod starts that is within its quotas, and the
// world comes to rest: those that went do not take the room again.
func TestYieldingSettles(t *testing.T) {
	asked := 0
	for seed := range uint64(300) {
		w := newSettling(seed)
		var k Keeper
		for range 4 {
			w.round(t, &k)
		}
		for i := range 1 + w.r.IntN(4) {
			w.workload(fmt.Sprintf("late%d", i), fmt.Sprintf("u%d", 1+w.r.IntN(2)), []string{"small", "large"}[w.r.IntN(2)], 1+w.r.IntN(4), false)
		}
		quiet := 0
		for n := 0; quiet < 4; n++ {
			if n == 200 {
				t.Fatalf("seed %d: pods go and come without end", seed)
			}
			if quiet++; !w.round(t, &k) {
				quiet = 0
			}
		}
		if asked += w.asked; w.within < w.promised {
			t.Errorf("%d pods started within their quotas, and others went for %d", w.within, w.promised)
		}
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	if asked < 100 {
		t.Errorf("only %d pods were asked to go, which tests little", asked)
	}
}
