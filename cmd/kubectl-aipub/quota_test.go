// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"
)

func TestQuotaScreens(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*crowd)
		args   string
	}{
		"quota":             {args: "quota"},
		"quota-wide":        {args: "quota -o wide"},
		"quota-one":         {args: "quota vision"},
		"quota-one-user":    {args: "quota vision vision-each --user ann"},
		"quota-left-off":    {args: "quota vision", change: func(c *crowd) { c.quotas[0].Status.LeftOff = 3 }},
		"quota-project":     {args: "quota --project vision"},
		"quota-user":        {args: "quota --user eve"},
		"quota-nobody":      {args: "quota --project web --user ann"},
		"quota-unknown":     {args: "quota visoin"},
		"quota-none":        {args: "quota", change: func(c *crowd) { c.quotas = nil }},
		"quota-name":        {args: "quota -o name"},
		"quota-jsonpath":    {args: "quota vision -o jsonpath={.kind}/{.status.used.sets.small}"},
		"quota-storage":     {args: "quota --storage"},
		"quota-storage-one": {args: "quota --storage visio"},
	} {
		t.Run(name, func(t *testing.T) {
			c := crowded(t)
			if tc.change != nil {
				tc.change(c)
			}
			golden(t, name, c.kubectl(t, strings.Fields(tc.args)...))
		})
	}
}
