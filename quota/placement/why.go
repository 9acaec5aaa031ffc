// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/gpu"
	"aipub.io/aipub/gpu/choice"
)

// What is in the way on a node that could have the pod.
const (
	wordTaken = "its slices are held, or overlap with what is held"
	wordKept  = "its room is kept for an earlier one"
	wordSoon  = "its kubelet has yet to offer the set"
)

// why says what is in the way on each node, and what follows for all of them.
func (r *Room) why(q *query) *Why {
	w := &Why{Reason: api.ReasonNoNodeHasSet, Nodes: make(map[string]string, len(r.tables))}
	if len(q.needs) == 0 {
		w.Message = "the pod asks for no set"
		return w
	}
	count := map[string]int{}
	for _, t := range r.tables {
		word := r.against(t, q)
		w.Nodes[t.node.Name] = word
		count[word]++
	}
	for word := range count {
		switch word {
		case wordKept:
			w.Reason = api.ReasonKeptForEarlier
		case wordTaken, wordSoon:
			if w.Reason == api.ReasonNoNodeHasSet {
				w.Reason = api.ReasonNoRoomOnNodes
			}
		}
	}
	w.Message = sentence(w.Reason, q.needs, count)
	return w
}

// against says in a few words why a pod cannot be on a node now.
func (r *Room) against(t *table, q *query) string {
	if !t.node.Usable {
		return cmp.Or(t.node.Unusable, "it is not usable")
	}
	soon := false
	for _, need := range q.needs {
		n := 0
		for _, i := range t.board.Members(need.Set) {
			if t.soon(i) == choice.Open {
				n++
			}
		}
		switch {
		case n == 0:
			return "it has no set " + need.Set
		case n < need.N:
			return fmt.Sprintf("it has only %d of set %s", n, need.Set)
		}
		soon = soon || t.node.NotOffered[need.Set]
	}
	if word := q.limits.against(t.node); word != "" {
		return word
	}
	switch {
	case t.kept != nil && r.askIn(t, q, t.now, digestOf(t.now, t.salt)).ok:
		return wordKept
	case len(q.needs) > 1 && !t.ever(q):
		return "it cannot hold all these sets together"
	case soon:
		return wordSoon
	}
	return wordTaken
}

// ever reports whether the node could hold what is asked for if it were empty.
func (t *table) ever(q *query) bool {
	s := t.board.Empty()
	for i := range s.Marks {
		s.Marks[i] = t.soon(i)
	}
	_, ok := t.board.Seat(s, q.needs)
	return ok
}

var openings = map[string]string{
	api.ReasonNoNodeHasSet:   "no node that the pod may be on has %s",
	api.ReasonNoRoomOnNodes:  "no node has room for %s now",
	api.ReasonKeptForEarlier: "the room that there is for %s is kept for an earlier one",
}

// sentence names what is asked for and how many nodes have what in the way, most
// first.
func sentence(reason string, needs []choice.Need, count map[string]int) string {
	what := make([]string, len(needs))
	for k, n := range needs {
		what[k] = gpu.ResourceName(n.Set)
		if n.N != 1 {
			what[k] = fmt.Sprintf("%d × %s", n.N, what[k])
		}
	}
	opening := fmt.Sprintf(openings[reason], strings.Join(what, " and "))
	if len(count) == 0 {
		return opening + ": no node reports any set"
	}
	words := slices.SortedFunc(maps.Keys(count), func(a, b string) int {
		return cmp.Or(cmp.Compare(count[b], count[a]), cmp.Compare(a, b))
	})
	for k, word := range words {
		nodes := "nodes"
		if count[word] == 1 {
			nodes = "node"
		}
		words[k] = fmt.Sprintf("%d %s: %s", count[word], nodes, word)
	}
	return opening + " (" + strings.Join(words, "; ") + ")"
}
