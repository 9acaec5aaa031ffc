// SPDX-License-Identifier: Apache-2.0

package storage

// sum is what many slots take.
type sum struct {
	bytes   tally
	volumes int64
	classes map[string]tally
}

func (s *sum) add(p part) {
	s.bytes, s.volumes = s.bytes.plus(p.bytes), s.volumes+p.volumes
	for _, c := range p.classes {
		if s.classes == nil {
			s.classes = map[string]tally{}
		}
		s.classes[c.class] = s.classes[c.class].plus(c.bytes)
	}
}

func (s *sum) remove(p part) {
	s.bytes, s.volumes = s.bytes.minus(p.bytes), s.volumes-p.volumes
	for _, c := range p.classes {
		left := s.classes[c.class].minus(c.bytes)
		if left == (tally{}) {
			delete(s.classes, c.class)
			continue
		}
		s.classes[c.class] = left
	}
}

// line is what is taken by the claims that exist, and by those and the reservations.
type line struct{ used, held sum }

func (l *line) empty() bool { return l.held.empty() && l.used.empty() }

// empty reports whether nothing is taken: neither a volume, which may be of no bytes,
// nor what is saved.
func (s *sum) empty() bool { return s.volumes == 0 && s.bytes == tally{} }

// of returns one respect of a sum.
func (s *sum) of(m Measure, class string) tally {
	switch m {
	case Volumes:
		return tally{}.plus(s.volumes)
	case PerClass:
		return s.classes[class]
	case Total:
	}
	return s.bytes
}

func (p part) in(m Measure, class string) int64 {
	switch m {
	case Volumes:
		return p.volumes
	case PerClass:
		return p.of(class)
	case Total:
	}
	return p.bytes
}
