// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"
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

func TestGPUsOfMIGAreReadable(t *testing.T) {
	for text, want := range map[string]string{"143m": "0.143", "429m": "0.429", "0.2525": "0.2525", "2500m": "2.5", "1000000": "1000000", "0": "0"} {
		q := resource.MustParse(text)
		if got := gpuAmount(&q); got != want {
			t.Errorf("%s is shown as %s, want %s", text, got, want)
		}
	}
}
