// SPDX-License-Identifier: Apache-2.0

package gate

// sight is what readers of a pod's condition may know of others. Whoever reads it
// can read the pods of its namespace, and with them who holds sets there; so those
// are named, and nobody else.
type sight struct {
	charged []Charged
	users   map[string]map[string]bool // by namespace
}

// of returns whose names may stand in a sentence about p.
func (s *sight) of(p *Pending) func(user string) bool {
	if s.users == nil {
		s.users = map[string]map[string]bool{}
		for i := range s.charged {
			c := &s.charged[i].Claim
			if s.users[c.Namespace] == nil {
				s.users[c.Namespace] = map[string]bool{}
			}
			s.users[c.Namespace][c.Party.User] = true
		}
	}
	return s.sees(p.Claim.Namespace, p.Claim.Party.User)
}

func (s *sight) sees(namespace, own string) func(string) bool {
	known := s.users[namespace]
	return func(user string) bool { return user == own || known[user] }
}
