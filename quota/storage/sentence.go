// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/quota"
)

// Sentence says to who asked which level is in the way, its limit, who holds most of
// it and what to do. The names of users for whom sees is false are left out; nil sees
// all. A person's claims are named in the asker's project alone.
//
//	project vision has claimed 1.9Ti of 2Ti (quota vision): alice 1.5Ti, bob 409.6Gi.
//	Ask for 102.4Gi or less, delete claims that are not needed, or ask an administrator
//	to raise the quota.
func (s Shortfall) Sentence(sees func(user string) bool) string {
	if sees == nil {
		sees = func(string) bool { return true }
	}
	who := quota.Subject(s.Scope, s.Asker.User, sees)
	within := quota.WithinProject(s.Scope)
	switch {
	case s.Limit == 0:
		return fmt.Sprintf("%s may claim none%s%s (quota %s). %s.", who, s.of(), within, s.Quota, capital(alternatives(s.otherwise())))
	case s.Asked > s.Limit && s.Measure != Volumes:
		return fmt.Sprintf("%s may claim at most %s in all%s%s (quota %s). %s.",
			who, s.amount(s.Limit), s.of(), within, s.Quota, capital(alternatives(append([]string{"ask for less"}, s.otherwise()...))))
	}
	b := &strings.Builder{}
	fmt.Fprintf(b, "%s has claimed %s of %s%s%s", who, s.amount(s.Used), s.amountOf(s.Limit), s.of(), within)
	if s.Reserved > 0 {
		fmt.Fprintf(b, ", and %s more a moment ago", s.amount(s.Reserved))
	}
	fmt.Fprintf(b, " (quota %s)", s.Quota)
	if list := s.holderList(sees); list != "" {
		b.WriteString(": " + list)
	}
	b.WriteString(". " + s.advice(sees))
	return b.String()
}

func (s Shortfall) holderList(sees func(string) bool) string {
	var parts, projects []string
	others, away := s.Others, tally{}
	for _, h := range s.Holders {
		switch {
		case !sees(h.User):
			others++
		case s.personal() && h.Project != s.Asker.Project:
			away = away.plus(h.Amount)
			if !slices.Contains(projects, h.Project) {
				projects = append(projects, h.Project)
			}
		case s.personal():
			parts = append(parts, h.Claim+" "+s.amount(h.Amount))
		default:
			parts = append(parts, quota.Person(h.User)+" "+s.amount(h.Amount))
		}
	}
	if len(projects) > 0 {
		parts = append(parts, s.amount(away.int64())+quota.Elsewhere(projects))
	}
	if others > 0 && len(parts) > 0 {
		parts = append(parts, strconv.Itoa(others)+" more")
	}
	return strings.Join(parts, ", ")
}

// advice is what who asked can do.
func (s Shortfall) advice(sees func(string) bool) string {
	var parts []string
	if left := s.Limit - s.Used - s.Reserved; left > 0 && s.Measure != Volumes {
		parts = append(parts, "ask for "+roundedDown(left)+" or less")
	}
	own := s.personal() || slices.ContainsFunc(s.Holders, func(h Holding) bool { return h.User == s.Asker.User })
	switch {
	case own:
		parts = append(parts, "delete claims of yours that are not needed")
	case slices.ContainsFunc(s.Holders, func(h Holding) bool { return sees(h.User) }):
		parts = append(parts, "have them delete claims that are not needed")
	}
	return capital(alternatives(append(parts, s.otherwise()...))) + "."
}

func (s Shortfall) otherwise() []string {
	const raise = "ask an administrator to raise the quota"
	if s.Measure == PerClass {
		return []string{"take another StorageClass", raise}
	}
	return []string{raise}
}

// alternatives is "a, b, or c".
func alternatives(parts []string) string {
	last := len(parts) - 1
	if last == 0 {
		return parts[0]
	}
	return strings.Join(parts[:last], ", ") + ", or " + parts[last]
}

func (s Shortfall) of() string {
	if s.Measure == PerClass {
		return " of StorageClass " + s.Class
	}
	return ""
}

func (s Shortfall) amount(n int64) string {
	if s.Measure == Volumes {
		return strconv.FormatInt(n, 10)
	}
	return rounded(n)
}

func (s Shortfall) amountOf(n int64) string {
	switch {
	case s.Measure != Volumes:
		return s.amount(n)
	case n == 1:
		return "1 volume"
	}
	return s.amount(n) + " volumes"
}

func capital(text string) string { return strings.ToUpper(text[:1]) + text[1:] }

// SizeText is a size as people write it: with a unit where it is a whole number of it.
func SizeText(n int64) string {
	q := quantity(n)
	return q.String()
}

// rounded is a size as people read it: exact where two decimals do.
func rounded(n int64) string { return inUnit(n, 0.5) }

// roundedDown never says more than there is.
func roundedDown(n int64) string { return inUnit(n, 0) }

func inUnit(n int64, up float64) string {
	if n < 1<<10 {
		return strconv.FormatInt(n, 10) + " bytes"
	}
	unit, suffixes := int64(1), []string{"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"}
	i := 0
	for i+1 < len(suffixes) && n>>10 >= unit {
		unit, i = unit<<10, i+1
	}
	// Below the unit there are at most 60 bits, so hundredths are exact enough.
	hundredths := n/unit*100 + int64(float64(n%unit)/float64(unit)*100+up)
	text := fmt.Sprintf("%d.%02d", hundredths/100, hundredths%100)
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".") + suffixes[i]
}

// Excess is one limit that is exceeded.
type Excess struct {
	Quota   string
	Scope   api.QuotaScope
	User    string // whose line it is, where each user has one
	Measure Measure
	Class   string
	// Limit, Used: bytes, or claims.
	Limit, Used int64
}

// Sentence says what is above the limit, and that nothing is taken away.
func (x Excess) Sentence() string {
	s := Shortfall{Quota: x.Quota, Scope: x.Scope, Measure: x.Measure, Class: x.Class}
	return fmt.Sprintf("%s has claimed %s of %s%s%s (quota %s): nothing is taken away, and nothing new fits until less is claimed",
		quota.Subject(x.Scope, x.User, func(string) bool { return true }), s.amount(x.Used), s.amountOf(x.Limit), s.of(), quota.WithinProject(x.Scope), x.Quota)
}

// quantity is a size in the form of the API.
func quantity(n int64) resource.Quantity { return *resource.NewQuantity(n, resource.BinarySI) }
