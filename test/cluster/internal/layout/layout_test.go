// SPDX-License-Identifier: Apache-2.0

package layout

import "testing"

func TestFromEnv(t *testing.T) {
	for name, test := range map[string]struct {
		env         map[string]string
		work, cache string
		ok          bool
	}{
		"defaults":       {map[string]string{"HOME": "/h"}, "/var/lib/aipub-cluster", "/h/.cache/aipub/cluster", true},
		"XDG":            {map[string]string{"HOME": "/h", "XDG_CACHE_HOME": "/x"}, "/var/lib/aipub-cluster", "/x/aipub/cluster", true},
		"own cache":      {map[string]string{"AIPUB_CACHE": "/a", "XDG_CACHE_HOME": "/x"}, "/var/lib/aipub-cluster", "/a/cluster", true},
		"own work":       {map[string]string{"HOME": "/h", "AIPUB_CLUSTER_DIR": "/w/"}, "/w", "/h/.cache/aipub/cluster", true},
		"relative work":  {map[string]string{"HOME": "/h", "AIPUB_CLUSTER_DIR": "w"}, "", "", false},
		"relative cache": {map[string]string{"AIPUB_CACHE": "c"}, "", "", false},
		"root as work":   {map[string]string{"HOME": "/h", "AIPUB_CLUSTER_DIR": "/."}, "", "", false},
		"no home":        {map[string]string{}, "", "", false},
	} {
		got, err := FromEnv(func(key string) string { return test.env[key] })
		if (err == nil) != test.ok || got.Work != test.work || got.Cache != test.cache {
			t.Errorf("%s: got %+v, %v", name, got, err)
		}
	}
}
