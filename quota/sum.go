// SPDX-License-Identifier: Apache-2.0

package quota

import (
	"cmp"
	"math"
	"slices"

	api "aipub.io/aipub/api/v1alpha1"
)

// sum adds up what is shown.
type sum struct {
	sets map[string]int64 // by dimension
	pods int
}

func (s *sum) add(a amounts, pods int) {
	if s.sets == nil {
		s.sets = map[string]int64{}
	}
	for _, x := range a {
		s.sets[x.set] += x.n
	}
	s.pods += pods
}

func (s *sum) addAll(entries []*entry) {
	for _, e := range entries {
		s.add(e.asks, 1)
	}
}

// amounts is the sum as the API shows it. What is too large for it is the largest.
func (s *sum) amounts() api.SetAmounts {
	out := api.SetAmounts{Pods: int32Of(int64(s.pods))}
	for set, n := range s.sets {
		if set == units {
			q := Units(n).Quantity()
			out.GPU = &q
			continue
		}
		if out.Sets == nil {
			out.Sets = map[string]int32{}
		}
		out.Sets[set] = int32Of(n)
	}
	return out
}

// shown is the sum with GPUs even where there are none, for a column that says 0.
func (s *sum) shown() api.SetAmounts {
	out := s.amounts()
	if out.GPU == nil {
		none := Units(0).Quantity()
		out.GPU = &none
	}
	return out
}

func int32Of(n int64) int32 {
	return int32(min(n, math.MaxInt32))
}

// listUsers lists who uses most first, at most maxListed.
func listUsers(users map[string]*sum) []api.UserAmounts {
	names := make([]string, 0, len(users))
	for name := range users {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int {
		x, y := users[a], users[b]
		return cmp.Or(cmp.Compare(y.sets[units], x.sets[units]), cmp.Compare(y.pods, x.pods), cmp.Compare(a, b))
	})
	var out []api.UserAmounts
	for _, name := range names[:min(len(names), maxListed)] {
		out = append(out, api.UserAmounts{User: name, Used: users[name].amounts()})
	}
	return out
}
