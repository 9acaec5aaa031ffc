// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/quota"
)

// amount adds up what pods ask for.
type amount struct {
	sets  map[string]int64
	units quota.Units
	pods  int64
}

func (a *amount) add(sets map[string]int64, sizes quota.Sizes) {
	if a.sets == nil {
		a.sets = map[string]int64{}
	}
	for set, n := range sets {
		a.sets[set] += n
		a.units += sizes[set] * quota.Units(n)
	}
	a.pods++
}

func (a *amount) merge(b *amount) {
	if a.sets == nil {
		a.sets = map[string]int64{}
	}
	for set, n := range b.sets {
		a.sets[set] += n
	}
	a.units, a.pods = a.units+b.units, a.pods+b.pods
}

func (a *amount) show() api.SetAmounts {
	out := api.SetAmounts{Pods: int32(a.pods)}
	for set, n := range a.sets {
		if out.Sets == nil {
			out.Sets = map[string]int32{}
		}
		out.Sets[set] = int32(n)
	}
	if a.units > 0 {
		q := a.units.Quantity()
		out.GPU = &q
	}
	return out
}

// waitingBy is what waits, by who asks for it.
type waitingBy map[quota.Party]*amount

func countWaiting(v *view) waitingBy {
	out := waitingBy{}
	for i := range v.Pending {
		c := &v.Pending[i].Claim
		if out[c.Party] == nil {
			out[c.Party] = &amount{}
		}
		out[c.Party].add(c.Sets, v.Sizes)
	}
	return out
}

// quotaStatus is the whole status of a quota.
func quotaStatus(q *api.ResourceSetQuota, book *quota.Book, sizes quota.Sizes, waiting waitingBy, now time.Time) api.ResourceSetQuotaStatus {
	status := book.Status(q.Name)
	status.ObservedGeneration = q.Generation
	total, users := &amount{}, map[string]*amount{}
	for party, a := range waiting {
		if !binds(q.Spec.Scope, party) {
			continue
		}
		total.merge(a)
		if users[party.User] == nil {
			users[party.User] = &amount{}
		}
		users[party.User].merge(a)
	}
	status.Waiting = total.show()
	status.Users = withWaiting(status.Users, users)
	status.Conditions = conditions(q.Status.Conditions, q.Generation, now, ready(q, sizes), overQuota(book.Over(q.Name)))
	return status
}

// applied is the condition of a quota that is in force, of sets or of storage.
func applied() metav1.Condition {
	return metav1.Condition{Type: api.ConditionReady, Status: metav1.ConditionTrue, Reason: api.ReasonApplied, Message: "the quota is in force"}
}

// ready says which limits of a quota are for sets that do not exist.
func ready(q *api.ResourceSetQuota, sizes quota.Sizes) metav1.Condition {
	unknown := quota.Unknown(q.Spec.Limits, sizes)
	if unknown == "" {
		return applied()
	}
	return metav1.Condition{Type: api.ConditionReady, Status: metav1.ConditionFalse, Reason: api.ReasonUnknownSet,
		Message: unknown + ". Correct the name, or define the set in a PartitionPolicy. All other limits are in force."}
}

// conditions are those of a quota as of a generation.
func conditions(old []metav1.Condition, generation int64, now time.Time, wanted ...metav1.Condition) []metav1.Condition {
	out := slices.Clone(old)
	for _, c := range wanted {
		c.ObservedGeneration, c.LastTransitionTime = generation, metav1.NewTime(now)
		meta.SetStatusCondition(&out, c)
	}
	return out
}

// overQuota says which limits are exceeded. Names stand in it: whoever may read a
// quota may read its holders.
func overQuota(over []quota.Excess) metav1.Condition {
	if len(over) == 0 {
		return metav1.Condition{Type: api.ConditionOverQuota, Status: metav1.ConditionFalse, Reason: api.ReasonWithinQuota, Message: "no more is held than may be"}
	}
	var sentences []string
	for i, x := range over {
		if i == 10 {
			sentences = append(sentences, fmt.Sprintf("and %d more", len(over)-i))
			break
		}
		sentences = append(sentences, x.Sentence(func(string) bool { return true }))
	}
	return metav1.Condition{Type: api.ConditionOverQuota, Status: metav1.ConditionTrue, Reason: api.ReasonOverLimit, Message: strings.Join(sentences, "; ")}
}

// withWaiting adds what waits to what is used, the largest first.
func withWaiting(used []api.UserAmounts, waiting map[string]*amount) []api.UserAmounts {
	for i := range used {
		if a := waiting[used[i].User]; a != nil {
			used[i].Waiting = a.show()
			delete(waiting, used[i].User)
		}
	}
	more := make([]api.UserAmounts, 0, len(waiting))
	for user, a := range waiting {
		more = append(more, api.UserAmounts{User: user, Waiting: a.show()})
	}
	slices.SortFunc(more, func(a, b api.UserAmounts) int {
		return cmp.Or(cmp.Compare(b.Waiting.Pods, a.Waiting.Pods), cmp.Compare(a.User, b.User))
	})
	used = append(used, more...)
	return used[:min(len(used), maxUsers)]
}

// maxUsers is how many people a status lists.
const maxUsers = 100

// binds reports whether a scope binds what a party asks for.
func binds(s api.QuotaScope, p quota.Party) bool {
	return (s.Project == "" || s.Project == p.Project) && (s.User == "" || s.User == p.User)
}
