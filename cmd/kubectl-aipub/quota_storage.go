// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"maps"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "aipub.io/aipub/api/v1alpha1"
)

// storageQuota shows quotas of volumes.
func (a *app) storageQuota(ctx context.Context, f quotaFilter, out *output) error {
	from, err := a.source()
	if err != nil {
		return err
	}
	var list api.StorageQuotaList
	if err := from.List(ctx, &list); err != nil {
		return err
	}
	quotas, missing := pickQuotas(f, list.Items, func(q *api.StorageQuota) (string, api.QuotaScope) { return q.Name, q.Spec.Scope })
	if table, _ := out.table(); table {
		err = a.storageTable(quotas, f, out)
	} else {
		list.Items = quotas
		list.SetGroupVersionKind(api.GroupVersion.WithKind("StorageQuotaList"))
		err = out.objects(&list, len(f.names) == 1, a.Out)
	}
	if err != nil {
		return err
	}
	return missing
}

func (a *app) storageTable(quotas []api.StorageQuota, f quotaFilter, out *output) error {
	if len(quotas) == 0 {
		if len(f.names) == 0 {
			a.note(f.noneWords("StorageQuota"))
		}
		return nil
	}
	t := columns("Name", "Binds", "User", "Limit of", "Limit", "Used", "Reserved", "Over")
	for _, q := range quotas {
		addStorageRows(t, q, f.user)
	}
	var b bytes.Buffer
	if err := out.rows(t, &b); err != nil {
		return err
	}
	if err := a.show(&b); err != nil {
		return err
	}
	for _, q := range quotas {
		a.note(quotaNotes(q.Name, q.Status.Conditions)...)
	}
	return nil
}

// addStorageRows adds a line for each limit, and for each user where each has
// limits of their own.
func addStorageRows(t *metav1.Table, q api.StorageQuota, user string) {
	over := ""
	if meta.IsStatusConditionTrue(q.Status.Conditions, api.ConditionOverQuota) {
		over = "yes"
	}
	add := func(user string, used, reserved *api.StorageAmounts) {
		for _, m := range storageMeasures(q.Spec.Limits, used, reserved) {
			addRow(t, q.Name, scopeWords(q.Spec.Scope), user, m.of, m.limit, m.used, m.reserved, over)
		}
	}
	if !q.Spec.Scope.EachUser {
		add("", &q.Status.Used, &q.Status.Reserved)
		return
	}
	found := false
	for _, u := range q.Status.Users {
		if user == "" || u.User == user {
			found = true
			add(u.User, &u.Used, nil)
		}
	}
	if !found {
		add(orElse(user, "each"), &api.StorageAmounts{}, nil)
	}
}

func storageMeasures(limits api.StorageLimits, used, reserved *api.StorageAmounts) []measure {
	var out []measure
	add := func(of, limit string, amount func(*api.StorageAmounts) string) {
		m := measure{of: of, limit: limit, used: amount(used), reserved: unknownAmount}
		if reserved != nil {
			m.reserved = amount(reserved)
		}
		out = append(out, m)
	}
	bytesOf := func(q *resource.Quantity) string {
		if q == nil {
			return "0"
		}
		return memory(q.Value())
	}
	if limits.Total != nil {
		add("total", limits.Total.String(), func(a *api.StorageAmounts) string { return bytesOf(a.Total) })
	}
	for _, class := range slices.Sorted(maps.Keys(limits.PerStorageClass)) {
		limit := limits.PerStorageClass[class]
		add("class "+class, limit.String(), func(a *api.StorageAmounts) string {
			q := a.PerStorageClass[class]
			return bytesOf(&q)
		})
	}
	if limits.Volumes != nil {
		add("volumes", strconv.Itoa(int(*limits.Volumes)), func(a *api.StorageAmounts) string { return strconv.Itoa(int(a.Volumes)) })
	}
	return out
}
