// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/quota"
	"aipub.io/aipub/quota/queue"
)

// item is a waiting workload with its pods, in the order in which they go.
type item struct {
	queue.Item
	place queue.Place
	pods  []waiter
	alone [1]waiter // where pods begins: most workloads have one
	gang  int
	since time.Time // when its oldest waiting pod was made
	// holds is what the workload holds already, floor its reserved minimum.
	holds held
	floor int64
	kept  bool // room is kept for it
	lends bool // it has pods that wait until something is lent
}

// closed reports whether our gate is all that a pod waits for.
func (w *waiter) closed() bool { return !w.opened && w.OtherGates == "" }

// waiter is a pod of an item.
type waiter struct {
	*Pending
	opened bool
	wait   *refusal // why it waits; nil where it was not looked at
	within bool     // it has quota, within every limit
	kept   bool     // others go for it, and the room is kept
}

// held is what a workload holds already.
type held struct {
	pods        int64
	leaving     int64 // of them, on their way out
	generations []string
}

// toStart is how many pods a gang needs to start together. Those on their way out do not
// run with them.
func (it *item) toStart() int64 {
	if it.gang <= 1 {
		return 0
	}
	return int64(it.gang) - (it.holds.pods - it.holds.leaving)
}

func (h *held) add(c *quota.Claim) {
	h.pods++
	if !slices.Contains(h.generations, c.Generation) {
		h.generations = append(h.generations, c.Generation)
	}
}

// itemKey tells items apart. Pods of one workload can belong to two projects, when
// their namespace moved from one to the other.
type itemKey struct{ workload, project string }

func keyOf(w *quota.Workload, project string) itemKey {
	if w.UID == "" {
		return itemKey{w.Kind + "/" + w.Namespace + "/" + w.Name, project}
	}
	return itemKey{w.UID, project}
}

// items are the waiting workloads, project by project in the order of their queues.
type items struct {
	all   []*item
	index map[itemKey]*item
}

// itemsOf gathers the pending pods by workload.
func itemsOf(pending []Pending) items {
	out := items{index: make(map[itemKey]*item, len(pending)/8)}
	projects := map[string][]*item{}
	var last *item   // pods of one workload tend to come together
	var block []item // made many at once
	for i := range pending {
		p := &pending[i]
		it := last
		if it == nil || it.Workload != p.Claim.Workload || it.Party.Project != p.Claim.Party.Project {
			key := keyOf(&p.Claim.Workload, p.Claim.Party.Project)
			if it = out.index[key]; it == nil {
				if len(block) == 0 {
					block = make([]item, min(256, len(pending)-i))
				}
				it, block = &block[0], block[1:]
				it.begin(p)
				out.index[key] = it
				projects[it.Party.Project] = append(projects[it.Party.Project], it)
			}
		}
		it.add(p)
		last = it
	}
	names := make([]string, 0, len(projects))
	for name := range projects {
		names = append(names, name)
	}
	slices.Sort(names)
	out.all = make([]*item, 0, len(out.index))
	for _, name := range names {
		for _, it := range projects[name] {
			it.place = queue.PlaceOf(&it.Item)
		}
		slices.SortFunc(projects[name], compareItems)
		out.all = append(out.all, projects[name]...)
	}
	for _, it := range out.all {
		slices.SortFunc(it.pods, olderPod)
	}
	return out
}

// begin makes an item of its first pod, which is added next.
func (it *item) begin(p *Pending) {
	it.Item = queue.Item{
		Workload: p.Claim.Workload, Party: p.Claim.Party,
		Rank: p.Rank, Promoted: p.Promoted, Created: p.Created,
	}
	it.since, it.pods = p.Claim.Since, it.alone[:0]
}

func (it *item) add(p *Pending) {
	it.pods = append(it.pods, waiter{Pending: p, wait: elsewhere(p)})
	it.gang = max(it.gang, p.Gang)
	if p.Claim.Since.Before(it.since) {
		it.since = p.Claim.Since
	}
	if p.Created.Before(it.Created) { // a workload whose object is not known is as old as its oldest pod
		it.Created = p.Created
	}
}

// elsewhere is why a pod waits for others than us; nil where it does not.
func elsewhere(p *Pending) *refusal {
	if p.OtherGates == "" {
		return nil
	}
	return &refusal{kind: aside, reason: api.ReasonOtherGates, message: fmt.Sprintf(
		"another system holds it by its scheduling gate %s; its turn comes when that is open", p.OtherGates)}
}

// compareItems is queue.Compare for one project.
func compareItems(a, b *item) int { return a.place.Compare(&b.place) }

func olderPod(a, b waiter) int {
	if c := a.Claim.Since.Compare(b.Claim.Since); c != 0 {
		return c
	}
	return cmp.Or(queue.CompareNames(a.Claim.Name, b.Claim.Name), cmp.Compare(a.Claim.UID, b.Claim.UID))
}

// settingsOf finds a project's queue.
func settingsOf(queues []api.PriorityQueue) func(string) queue.Settings {
	byName := make(map[string]queue.Settings, len(queues))
	for i := range queues {
		byName[queues[i].Name] = queue.SettingsOf(&queues[i])
	}
	none := queue.SettingsOf(nil)
	return func(project string) queue.Settings {
		if s, ok := byName[project]; ok {
			return s
		}
		return none
	}
}
