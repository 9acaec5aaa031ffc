// SPDX-License-Identifier: Apache-2.0

package quota

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	api "aipub.io/aipub/api/v1alpha1"
)

// maxNamed is how many holders a sentence names.
const maxNamed = 3

// Sentence says to who asked which level is in the way, its limit, who holds it,
// when the next is due back and what to do. The names of users for whom sees is
// false are left out ("2 others"); nil sees all. Workloads are named in the asker's project
// alone: who reads the sentence there need not know what else the person runs. Times
// are in now's zone.
//
//	project vision has 8 of 8 sets small in use (quota vision): alice 5, bob 3;
//	the next is due back at 14:05 UTC (in 25 minutes). Wait, or end one of yours.
func (s Shortfall) Sentence(sees func(user string) bool, now time.Time) string {
	if sees == nil {
		sees = func(string) bool { return true }
	}
	if s.Asked > s.Limit {
		return s.never(sees)
	}
	b := &strings.Builder{}
	fmt.Fprintf(b, "%s has %s of %s in use%s%s", Subject(s.Scope, s.User, sees),
		amountText(s.Set, s.Used), amountOf(s.Set, s.Limit), byType(" by ", s.Type), WithinProject(s.Scope))
	if s.Reserved > 0 {
		fmt.Fprintf(b, " and %s kept for minimums of Operations", amountText(s.Set, s.Reserved))
	}
	fmt.Fprintf(b, " (quota %s)", s.Quota)
	if list := s.holderList(sees); list != "" {
		b.WriteString(": " + list)
	}
	if s.Used+s.Reserved < s.Limit {
		fmt.Fprintf(b, "; %s asked for", are(s.Set, s.Asked, " more"))
	}
	b.WriteString(dueText(s.Next, now))
	b.WriteString(". " + s.advice(sees, now))
	return b.String()
}

// never is the sentence for what waiting does not help.
func (s Shortfall) never(sees func(string) bool) string {
	who := Subject(s.Scope, s.User, sees)
	what := byType(" for ", s.Type) + WithinProject(s.Scope)
	if s.Limit == 0 {
		instead := "another set"
		if s.Set == units {
			instead = "a set without a GPU"
		}
		return fmt.Sprintf("%s may have no %s%s (quota %s). Ask for %s, or ask an administrator to raise the quota.",
			who, noun(s.Set, 0), what, s.Quota, instead)
	}
	return fmt.Sprintf("%s may have at most %s%s (quota %s), and %s asked for. "+
		"Ask for fewer, or ask an administrator to raise the quota.",
		who, amountOf(s.Set, s.Limit), what, s.Quota, are(s.Set, s.Asked, ""))
}

// holderList is "alice 5, bob 3, 2 others 4", or of one person's workloads "Job ml/train
// 1, 2 in another project".
func (s Shortfall) holderList(sees func(string) bool) string {
	personal := s.Scope.User != "" || s.Scope.EachUser
	if personal && !sees(s.User) {
		return ""
	}
	var parts []string
	var away elsewhere
	rest, others := s.Used, s.HoldersLeft
	for _, h := range s.Holders {
		switch {
		case personal && h.Project != s.Asker.Project:
			away.add(h)
			rest -= h.Held
			continue
		case len(parts) == maxNamed || !sees(h.User):
			others++
			continue
		}
		name := Person(h.User)
		if personal {
			name = h.Workload.title()
		}
		parts = append(parts, name+" "+amountText(s.Set, h.Held))
		rest -= h.Held
	}
	if others > 0 {
		word := " others "
		if others == 1 {
			word = " other "
		}
		parts = append(parts, strconv.Itoa(others)+word+amountText(s.Set, rest))
	}
	if away.held > 0 {
		parts = append(parts, amountText(s.Set, away.held)+Elsewhere(away.projects))
	}
	return strings.Join(parts, ", ")
}

// elsewhere is what a person's workloads in other projects hold.
type elsewhere struct {
	held     int64
	projects []string
}

func (e *elsewhere) add(h Holding) {
	e.held += h.Held
	if !slices.Contains(e.projects, h.Project) {
		e.projects = append(e.projects, h.Project)
	}
}

// advice is what who asked can do.
func (s Shortfall) advice(sees func(string) bool, now time.Time) string {
	wait := "Wait"
	if s.Refused || s.Asker.Type == api.TypeWorkspace { // nothing waits
		wait = "Try again later"
		if s.Next.After(now) {
			wait = "Try again then"
		}
	}
	var seen []string
	for _, h := range s.Holders {
		if h.User == s.Asker.User {
			return wait + ", or end " + s.yours(h, sees) + "."
		}
		if sees(h.User) {
			seen = append(seen, Person(h.User))
		}
	}
	switch {
	case len(seen) == 1:
		return wait + ", or ask " + seen[0] + "."
	case len(seen) > 1:
		return wait + ", or ask one of them."
	case s.Used == 0 && s.Reserved > 0:
		return wait + ", or lower the minimum of an Operation."
	}
	return wait + "."
}

// yours is what who asked could end, of which held is one.
func (s Shortfall) yours(held Holding, sees func(string) bool) string {
	personal := s.Scope.User != "" || s.Scope.EachUser
	switch {
	case personal && sees(s.User) && len(s.Holders)+s.HoldersLeft == 1 && held.Project == s.Asker.Project:
		return "it"
	case s.Set != units && held.Held == 1 && !personal:
		return "yours"
	}
	return "one of yours"
}

// Sentence says what stands above the limit, and that nothing has to end.
func (x Excess) Sentence(sees func(user string) bool) string {
	if sees == nil {
		sees = func(string) bool { return true }
	}
	kept := ""
	if x.Reserved > 0 {
		kept = fmt.Sprintf(" and %s kept for minimums of Operations", amountText(x.Set, x.Reserved))
	}
	return fmt.Sprintf("%s has %s of %s in use%s%s%s (quota %s): nothing has to end, and nothing new fits until %s given back.",
		Subject(x.Scope, x.User, sees), amountText(x.Set, x.Used), amountOf(x.Set, x.Limit), byType(" by ", x.Type),
		WithinProject(x.Scope), kept, x.Quota, are(x.Set, x.Excess, ""))
}

func byType(preposition string, t api.WorkloadType) string {
	if t == "" {
		return ""
	}
	return preposition + string(t) + "s"
}

// amountText is the bare number: sets, or GPUs.
func amountText(set string, n int64) string {
	if set == units {
		return Units(n).String()
	}
	return strconv.FormatInt(n, 10)
}

// amountOf is the number with what it counts.
func amountOf(set string, n int64) string { return amountText(set, n) + " " + noun(set, n) }

func noun(set string, n int64) string {
	one := amountText(set, n) == "1"
	switch {
	case set == units && one:
		return "GPU"
	case set == units:
		return "GPUs"
	case one:
		return "set " + set
	}
	return "sets " + set
}

// are is "1 more is", "4 more are".
func are(set string, n int64, more string) string {
	if text := amountText(set, n); text != "1" {
		return text + more + " are"
	}
	return "1" + more + " is"
}
