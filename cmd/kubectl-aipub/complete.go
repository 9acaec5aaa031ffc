// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
)

// nameList is a list whose objects' names are offered.
type nameList = runtime.Object

// completeNames offers the names of the objects of a list that are not given
// yet. It offers nothing where they cannot be read.
func (a *app) completeNames(list func() nameList) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
		const none = cobra.ShellCompDirectiveNoFileComp
		from, err := a.source()
		if err != nil {
			return nil, none
		}
		l := list()
		if err := from.List(cmd.Context(), l); err != nil {
			return nil, none
		}
		var names []string
		err = meta.EachListItem(l, func(o runtime.Object) error {
			m, err := meta.Accessor(o)
			if err == nil && strings.HasPrefix(m.GetName(), prefix) && !slices.Contains(args, m.GetName()) {
				names = append(names, m.GetName())
			}
			return err
		})
		if err != nil {
			return nil, none
		}
		return names, none
	}
}
