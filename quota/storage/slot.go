// SPDX-License-Identifier: Apache-2.0

package storage

import "slices"

// candidate is a claim that exists or may come to exist.
type candidate struct {
	// key is the claim's UID, or that of a reservation.
	key      string
	claim    Claim
	reserved bool
}

// slot is one namespace and name: at most one of its candidates exists at a time.
type slot struct{ candidates []candidate }

// same reports whether a candidate has a place of its own: one claim can be there as
// itself and as its reservation.
func (c candidate) same(other candidate) bool {
	return c.key == other.key && c.reserved == other.reserved
}

func (s *slot) put(n candidate) {
	if i := slices.IndexFunc(s.candidates, n.same); i >= 0 {
		s.candidates[i] = n
		return
	}
	s.candidates = append(s.candidates, n)
}

func (s *slot) drop(gone func(candidate) bool) {
	s.candidates = slices.DeleteFunc(s.candidates, gone)
}

// with is the slot with one more candidate.
func (s *slot) with(n candidate) *slot {
	out := &slot{}
	if s != nil {
		out.candidates = slices.Clone(s.candidates)
	}
	out.put(n)
	return out
}

// owners are those of the candidates, each once.
func (s *slot) owners() []Owner {
	var out []Owner
	for _, c := range s.candidates {
		if !slices.Contains(out, c.claim.Owner) {
			out = append(out, c.claim.Owner)
		}
	}
	return out
}

// project is that of the candidates that count.
func (s *slot) project(counts func(candidate) bool) string {
	if i := slices.IndexFunc(s.candidates, counts); i >= 0 {
		return s.candidates[i].claim.Owner.Project
	}
	return ""
}

// measure is what the candidates that count take: in each respect the most that one
// of them does.
func (s *slot) measure(counts func(candidate) bool) part {
	var p part
	if s == nil {
		return p
	}
	for _, c := range s.candidates {
		if !counts(c) {
			continue
		}
		p.bytes = max(p.bytes, c.claim.Bytes)
		if c.claim.Saved {
			continue
		}
		p.volumes = 1
		i := slices.IndexFunc(p.classes, func(have classPart) bool { return have.class == c.claim.Class })
		if i < 0 {
			p.classes = append(p.classes, classPart{c.claim.Class, c.claim.Bytes})
			continue
		}
		p.classes[i].bytes = max(p.classes[i].bytes, c.claim.Bytes)
	}
	return p
}

// part is what one slot takes.
type part struct {
	bytes, volumes int64
	classes        []classPart
}

type classPart struct {
	class string
	bytes int64
}

func (p part) of(class string) int64 {
	for _, c := range p.classes {
		if c.class == class {
			return c.bytes
		}
	}
	return 0
}
