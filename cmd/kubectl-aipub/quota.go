// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "aipub.io/aipub/api/v1alpha1"
)

// quotaFilter are the flags that say which quotas are shown.
type quotaFilter struct {
	names         []string
	project, user string
	storage       bool
}

func newQuota(a *app) *cobra.Command {
	f := quotaFilter{}
	cmd := &cobra.Command{
		Use:     "quota [NAME...]",
		Aliases: []string{"quotas", "resourcesetquotas", "rsq"},
		Short:   "Show quotas: what may be held, what is held, by whom, and what waits",
		Long: `Show quotas: the limits, what is held, what is kept for the minimums of Operations,
and what waits. With names, who holds it as well.

The amounts are those that the controller wrote last, a second or so ago. A quota of
each user of a project has a line for each user who holds or waits for something.
With --storage, the quotas of volumes. -o json and -o yaml give the objects.`,
		Example: `  # All that binds the people of a project
  kubectl aipub quota --project vision

  # Who holds what of one quota
  kubectl aipub quota vision`,
		ValidArgsFunction: a.completeNames(func() nameList {
			if f.storage {
				return &api.StorageQuotaList{}
			}
			return &api.ResourceSetQuotaList{}
		}),
	}
	out := addObjectOutput(cmd)
	cmd.Flags().StringVar(&f.project, "project", "", "Show only quotas of this project, or of persons in it.")
	// As in kubectl create rolebinding, it hides the flag for the kubeconfig's user.
	cmd.Flags().StringVar(&f.user, "user", "", "Show only quotas of this user, by the name that the API server knows, and of each user.")
	cmd.Flags().BoolVar(&f.storage, "storage", false, "Show quotas of volumes instead of those of sets.")
	cmd.RunE = func(cmd *cobra.Command, names []string) error {
		if err := out.check(); err != nil {
			return err
		}
		f.names = names
		if f.storage {
			return a.storageQuota(cmd.Context(), f, out)
		}
		return a.quota(cmd.Context(), f, out)
	}
	return cmd
}

func (a *app) quota(ctx context.Context, f quotaFilter, out *output) error {
	from, err := a.source()
	if err != nil {
		return err
	}
	var list api.ResourceSetQuotaList
	if err := from.List(ctx, &list); err != nil {
		return err
	}
	quotas, missing := pickQuotas(f, list.Items, func(q *api.ResourceSetQuota) (string, api.QuotaScope) { return q.Name, q.Spec.Scope })
	if table, wide := out.table(); table {
		err = a.quotaTables(quotas, f, len(f.names) > 0 && !wide, out)
	} else {
		list.Items = quotas
		list.SetGroupVersionKind(api.GroupVersion.WithKind("ResourceSetQuotaList"))
		err = out.objects(&list, len(f.names) == 1, a.Out)
	}
	if err != nil {
		return err
	}
	return missing
}

// pickQuotas are those named or else, of all, those that the flags ask for, by name.
// The error says which named ones there are not. of is a quota's name and scope.
func pickQuotas[T any](f quotaFilter, all []T, of func(*T) (string, api.QuotaScope)) ([]T, error) {
	nameOf := func(q T) string { name, _ := of(&q); return name }
	slices.SortFunc(all, func(a, b T) int { return strings.Compare(nameOf(a), nameOf(b)) })
	quotas, missing := byName(all, f.names, nameOf, func(name string) error {
		var known []string
		for _, q := range all {
			known = append(known, nameOf(q))
		}
		return fmt.Errorf("there is no quota %q%s; kubectl aipub quota lists those that exist", name, didYouMean(name, known))
	})
	return slices.DeleteFunc(slices.Clone(quotas), func(q T) bool {
		_, scope := of(&q)
		return len(f.names) == 0 && !f.takes(scope)
	}), missing
}

// takes reports whether the flags ask for quotas of a scope.
func (f quotaFilter) takes(s api.QuotaScope) bool {
	if f.project != "" && s.Project != f.project {
		return false
	}
	return f.user == "" || s.User == f.user || s.EachUser
}

func (a *app) quotaTables(quotas []api.ResourceSetQuota, f quotaFilter, detail bool, out *output) error {
	var b bytes.Buffer
	switch {
	case len(quotas) == 0:
		if len(f.names) == 0 {
			a.note(f.noneWords("ResourceSetQuota"))
		}
		return nil
	case detail:
		for i, q := range quotas {
			if i > 0 {
				fmt.Fprintln(&b)
			}
			if err := a.describeQuota(q, f.user, out, &b); err != nil {
				return err
			}
		}
	default:
		t := quotaTable()
		for _, q := range quotas {
			addQuotaRows(t, q, f.user)
		}
		if err := out.rows(t, &b); err != nil {
			return err
		}
	}
	if err := a.show(&b); err != nil {
		return err
	}
	for _, q := range quotas {
		a.note(quotaNotes(q.Name, q.Status.Conditions)...)
	}
	return nil
}

// noneWords say that there is nothing to show, and what that means.
func (f quotaFilter) noneWords(kind string) string {
	if f.project == "" && f.user == "" {
		return fmt.Sprintf("there is no %s, so nobody is limited", kind)
	}
	return fmt.Sprintf("no %s is of %s", kind, strings.Join(slices.DeleteFunc([]string{
		orNothing("project ", nonEmpty(f.project)), orNothing("user ", nonEmpty(f.user)),
	}, func(s string) bool { return s == "" }), " and "))
}

func nonEmpty(s string) []string {
	if s == "" {
		return nil
	}
	return []string{s}
}

// quotaNotes say that more is held than may be, and what keeps a quota from having
// taken effect.
func quotaNotes(name string, conditions []metav1.Condition) []string {
	var notes []string
	if c := meta.FindStatusCondition(conditions, api.ConditionOverQuota); c != nil && c.Status == metav1.ConditionTrue {
		notes = append(notes, fmt.Sprintf("quota %s: %s", name, orElse(c.Message, c.Reason)))
	}
	if c := meta.FindStatusCondition(conditions, api.ConditionReady); c != nil && c.Status == metav1.ConditionFalse {
		notes = append(notes, fmt.Sprintf("quota %s is not in force: %s", name, orElse(c.Message, c.Reason)))
	}
	return notes
}
