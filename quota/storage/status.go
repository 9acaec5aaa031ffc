// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"cmp"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/resource"

	api "aipub.io/aipub/api/v1alpha1"
)

// maxUsers is how many people a status lists.
const maxUsers = 100

// Status is what is charged to a quota; empty for one that the book does not have.
func (b *Book) Status(quota string) api.StorageQuotaStatus {
	a := b.account(quota)
	if a == nil {
		return api.StorageQuotaStatus{}
	}
	status := api.StorageQuotaStatus{Used: a.whole.used.show(), Reserved: a.whole.reserved()}
	users := slices.SortedFunc(maps.Keys(a.users), func(x, y string) int {
		return cmp.Or(
			cmp.Compare(a.users[y].used.bytes.int64(), a.users[x].used.bytes.int64()),
			cmp.Compare(a.users[y].used.volumes, a.users[x].used.volumes), cmp.Compare(x, y))
	})
	for _, user := range users {
		if !a.users[user].used.empty() && len(status.Users) < maxUsers {
			status.Users = append(status.Users, api.UserStorage{User: user, Used: a.users[user].used.show()})
		}
	}
	return status
}

// Has reports whether the book has a quota of the name.
func (b *Book) Has(quota string) bool { return b.account(quota) != nil }

// Over says which limits of a quota are exceeded by claims that exist.
func (b *Book) Over(quota string) []Excess {
	a := b.account(quota)
	if a == nil {
		return nil
	}
	if !a.scope.EachUser {
		return a.over(&a.whole, a.scope.User)
	}
	var out []Excess
	for _, user := range slices.Sorted(maps.Keys(a.users)) {
		out = append(out, a.over(a.users[user], user)...)
	}
	return out
}

func (b *Book) account(quota string) *account {
	i := slices.IndexFunc(b.accounts, func(a *account) bool { return a.name == quota })
	if i < 0 {
		return nil
	}
	return b.accounts[i]
}

func (a *account) over(l *line, user string) []Excess {
	var out []Excess
	for _, m := range a.limits {
		if used := l.used.of(m.measure, m.class); used.above(m.most) {
			out = append(out, Excess{a.name, a.scope, user, m.measure, m.class, m.most, used.int64()})
		}
	}
	return out
}

func (s *sum) show() api.StorageAmounts {
	out := api.StorageAmounts{Volumes: int32(s.volumes)}
	if bytes := s.bytes.int64(); bytes > 0 {
		q := quantity(bytes)
		out.Total = &q
	}
	for class, t := range s.classes {
		setClass(&out, class, t.int64())
	}
	return out
}

// setClass leaves out what is of no class: it stands in the total.
func setClass(out *api.StorageAmounts, class string, bytes int64) {
	if class == "" || bytes <= 0 {
		return
	}
	if out.PerStorageClass == nil {
		out.PerStorageClass = map[string]resource.Quantity{}
	}
	out.PerStorageClass[class] = quantity(bytes)
}

// reserved is what the reservations add.
func (l *line) reserved() api.StorageAmounts {
	out := api.StorageAmounts{Volumes: int32(l.held.volumes - l.used.volumes)}
	if bytes := l.held.bytes.int64() - l.used.bytes.int64(); bytes > 0 {
		q := quantity(bytes)
		out.Total = &q
	}
	for class, t := range l.held.classes {
		setClass(&out, class, t.int64()-l.used.classes[class].int64())
	}
	return out
}
