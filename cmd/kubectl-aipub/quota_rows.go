// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "aipub.io/aipub/api/v1alpha1"
)

// unknownAmount stands for what cannot be told from what the controller writes.
const unknownAmount = "?"

func quotaTable() *metav1.Table {
	return columns("Name", "Binds", "User", "Limit of", "Limit", "Used", "Reserved", "Waiting", "Over", "+Borrowed", "+Surge", "+Rules")
}

// measure is one limit with what stands against it; what is not known is "".
type measure struct {
	user, of                                        string
	limit, used, reserved, waiting, borrowed, surge string
}

// addQuotaRows adds a line for each limit of a quota, and for each user where each
// has limits of their own. A user narrows those down.
func addQuotaRows(t *metav1.Table, q api.ResourceSetQuota, user string) {
	over := ""
	if meta.IsStatusConditionTrue(q.Status.Conditions, api.ConditionOverQuota) {
		over = "yes"
	}
	for _, m := range measures(q, user) {
		addRow(t, q.Name, scopeWords(q.Spec.Scope), m.user, m.of, m.limit, m.used, m.reserved, m.waiting, over, m.borrowed, m.surge, ruleWords(q.Spec))
	}
}

// scopeWords are whom a quota binds.
func scopeWords(s api.QuotaScope) string {
	switch {
	case s.EachUser:
		return "each user of " + s.Project
	case s.Project != "" && s.User != "":
		return s.User + " in " + s.Project
	case s.User != "":
		return "user " + s.User
	}
	return "project " + s.Project
}

// ruleWords are the rules of a quota beside its limits.
func ruleWords(s api.ResourceSetQuotaSpec) string {
	words := fmt.Sprintf("surge %d", valueOr(s.SurgePods, 1))
	if s.Borrowing != nil {
		words += fmt.Sprintf(", borrowing after %ds", valueOr(s.Borrowing.MinRunSeconds, 600))
	}
	return words
}

// measures are the limits of a quota in order: as a whole, then by type.
func measures(q api.ResourceSetQuota, user string) []measure {
	var out []measure
	s := q.Status
	if !q.Spec.Scope.EachUser {
		out = append(out, limitRows("", "", q.Spec.Limits.SetLimits, amounts{&s.Used, &s.Reserved, &s.Waiting, &s.Borrowed, &s.Surge})...)
		return append(out, typeRows(q, "")...)
	}
	for _, u := range s.Users {
		if user == "" || u.User == user {
			out = append(out, limitRows(u.User, "", q.Spec.Limits.SetLimits, amounts{used: &u.Used, waiting: &u.Waiting})...)
			out = append(out, typeRows(q, u.User)...)
		}
	}
	if len(out) == 0 {
		zero := amounts{used: &api.SetAmounts{}, waiting: &api.SetAmounts{}}
		out = limitRows(orElse(user, "each"), "", q.Spec.Limits.SetLimits, zero)
	}
	return out
}

// typeRows are the limits of each workload type. What each type holds is the sum of
// the holders, if all of them are listed.
func typeRows(q api.ResourceSetQuota, user string) []measure {
	var out []measure
	for _, kind := range slices.Sorted(maps.Keys(q.Spec.Limits.ByType)) {
		var held amounts
		if q.Status.LeftOff == 0 {
			held.used = heldByType(q.Status.Holders, kind, user)
		}
		out = append(out, limitRows(user, string(kind)+" ", q.Spec.Limits.ByType[kind], held)...)
	}
	return out
}

func heldByType(holders []api.QuotaHolder, kind api.WorkloadType, user string) *api.SetAmounts {
	sum := api.SetAmounts{Sets: map[string]int32{}, GPU: &resource.Quantity{}}
	for _, h := range holders {
		if h.Type != kind || (user != "" && h.User != user) {
			continue
		}
		for set, n := range h.Held.Sets {
			sum.Sets[set] += n
		}
		if h.Held.GPU != nil {
			sum.GPU.Add(*h.Held.GPU)
		}
	}
	return &sum
}

// amounts are what stands against limits; nil where it is not known.
type amounts struct{ used, reserved, waiting, borrowed, surge *api.SetAmounts }

// limitRows are one line for each set that is limited, and one for GPUs.
func limitRows(user, of string, limits api.SetLimits, held amounts) []measure {
	var out []measure
	add := func(of, limit string, amount func(*api.SetAmounts) string) {
		out = append(out, measure{user: user, of: of, limit: limit, used: amount(held.used), reserved: amount(held.reserved),
			waiting: amount(held.waiting), borrowed: amount(held.borrowed), surge: amount(held.surge)})
	}
	for _, set := range slices.Sorted(maps.Keys(limits.Sets)) {
		add(of+"set "+set, strconv.Itoa(int(limits.Sets[set])), func(a *api.SetAmounts) string {
			if a == nil {
				return unknownAmount
			}
			return strconv.Itoa(int(a.Sets[set]))
		})
	}
	if limits.GPU != nil {
		add(of+"GPU", gpuAmount(limits.GPU), func(a *api.SetAmounts) string {
			if a == nil {
				return unknownAmount
			}
			return gpuAmount(a.GPU)
		})
	}
	return out
}

// gpuAmount is a number of GPUs, such as 0.25.
func gpuAmount(q *resource.Quantity) string {
	if q == nil {
		return "0"
	}
	// 143m is 0.14300000000000002 otherwise.
	return strconv.FormatFloat(math.Round(q.AsApproximateFloat64()*1e4)/1e4, 'f', -1, 64)
}

// describeQuota prints a quota with its users and holders.
func (a *app) describeQuota(q api.ResourceSetQuota, user string, out *output, b *bytes.Buffer) error {
	fields := []field{{"Quota", q.Name}, {"Binds", scopeWords(q.Spec.Scope)}, {"Rules", ruleWords(q.Spec)}}
	if c := meta.FindStatusCondition(q.Status.Conditions, api.ConditionOverQuota); c != nil {
		over := "no"
		if c.Status == metav1.ConditionTrue {
			over = "yes"
		}
		fields = append(fields, field{"Over quota", over})
	}
	writeFields(b, fields)
	limits := columns("User", "Limit of", "Limit", "Used", "Reserved", "Waiting", "Borrowed", "Surge")
	for _, m := range measures(q, user) {
		addRow(limits, m.user, m.of, m.limit, m.used, m.reserved, m.waiting, m.borrowed, m.surge)
	}
	users := columns("User", "Holds", "GPU", "Pods", "Waiting", "Waiting GPU", "Waiting pods")
	for _, u := range q.Status.Users {
		if user == "" || u.User == user {
			addRow(users, u.User, setCountWords(u.Used.Sets), gpuAmount(u.Used.GPU), strconv.Itoa(int(u.Used.Pods)),
				setCountWords(u.Waiting.Sets), gpuAmount(u.Waiting.GPU), strconv.Itoa(int(u.Waiting.Pods)))
		}
	}
	holders := columns("Holder", "User", "Type", "Holds", "GPU", "Pods", "Since", "Due back")
	for _, h := range q.Status.Holders {
		if user != "" && h.User != user {
			continue
		}
		due := ""
		if h.DueBack != nil {
			due = h.DueBack.UTC().Format("2006-01-02 15:04Z")
		}
		addRow(holders, h.Namespace+"/"+strings.ToLower(h.Kind)+"/"+h.Name, h.User, string(h.Type), setCountWords(h.Held.Sets),
			gpuAmount(h.Held.GPU), strconv.Itoa(int(h.Held.Pods)), age(h.Since, a.now()), due)
	}
	if err := out.tables(b, limits, users, holders); err != nil {
		return err
	}
	if q.Status.LeftOff > 0 {
		fmt.Fprintf(b, "\nand %s that are not listed\n", plural(int(q.Status.LeftOff), "holder"))
	}
	return nil
}

func setCountWords(sets map[string]int32) string {
	out := make(map[string]int64, len(sets))
	for set, n := range sets {
		out[set] = int64(n)
	}
	return setWords(out)
}

func valueOr(p *int32, otherwise int32) int32 {
	if p == nil {
		return otherwise
	}
	return *p
}
