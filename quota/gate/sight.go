// SPDX-License-Identifier: Apache-2.0

package gate

// Sees returns whose names may stand in a sentence that people of a namespace read.
// They can read the namespace's pods, and with them who holds sets there; so those
// are named, and themselves, and nobody else.
func Sees(charged []Charged) func(namespace, own string) func(user string) bool {
	users := map[string]map[string]bool{}
	for i := range charged {
		c := &charged[i].Claim
		if users[c.Namespace] == nil {
			users[c.Namespace] = map[string]bool{}
		}
		users[c.Namespace][c.Party.User] = true
	}
	return func(namespace, own string) func(string) bool {
		known := users[namespace]
		return func(user string) bool { return user == own || known[user] }
	}
}
