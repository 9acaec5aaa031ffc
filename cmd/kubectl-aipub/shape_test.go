// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"
)

// policyWith is a policy whose spec is given in flow style.
func policyWith(spec string) string {
	return "apiVersion: aipub.io/v1alpha1\nkind: PartitionPolicy\nmetadata: {name: p}\nspec: {" + spec + "}\n"
}

func TestPoliciesAreReadStrictly(t *testing.T) {
	for name, tc := range map[string]struct {
		in string
		// want is part of the error; empty where the policy is fine.
		want string
	}{
		"all forms of a quantity":  {policyWith(`sets: [{name: a, cpu: 2, memory: 1e9}, {name: b, cpu: "500m", memory: 1.5Gi}]`), ""},
		"as kubectl get writes it": {policyWith(`sets: []`) + "status: {nodes: 3, conditions: [{type: Ready, status: 'True', reason: Applied, message: '', lastTransitionTime: 2026-03-02T09:30:00Z}]}", ""},
		"null is nothing":          {policyWith(`sets: null, reserve: null`), ""},
		"another case":             {policyWith(`Sets: []`), `spec.Sets: there is no such field; did you mean "sets"?`},
		"no near name":             {policyWith(`reserve: {storage: 1Gi}`), "spec.reserve.storage: there is no such field; spec.reserve has cpu, memory"},
		"a key given twice":        {policyWith(`sets: [], sets: []`), `key "sets" already set in map`},
		"a fraction for a whole":   {policyWith(`sets: [{name: a, gpu: {count: 1.5}}]`), "spec.sets[0].gpu.count: 1.5 is given, but it takes a whole number without quotes"},
		"too large a number":       {policyWith(`sets: [{name: a, gpu: {count: 99999999999}}]`), "spec.sets[0].gpu.count: "},
		"not a quantity":           {policyWith(`sets: [{name: a, memory: 16GB}]`), `spec.sets[0].memory: the text "16GB" is not a quantity`},
		"text for true":            {policyWith(`sets: [{name: a, sharing: {lend: "yes"}}]`), `spec.sets[0].sharing.lend: the text "yes" is given, but it takes true or false`},
		"a list for an object":     {policyWith(`reserve: [1]`), "spec.reserve: a list is given, but it holds fields: cpu, memory"},
		"a number for a label":     {policyWith(`nodeSelector: {matchLabels: {pool: 5}}`), "spec.nodeSelector.matchLabels.pool: 5 is given, but it takes text, in quotes where it looks like a number"},
		"no name":                  {"apiVersion: aipub.io/v1alpha1\nkind: PartitionPolicy\nspec: {}", "metadata.name: give the policy a name"},
		"another kind":             {"apiVersion: v1\nkind: Pod", "holds no PartitionPolicy of apiVersion aipub.io/v1alpha1, only v1 Pod"},
		"an older version":         {"apiVersion: aipub.io/v1\nkind: PartitionPolicy", "only aipub.io/v1 PartitionPolicy"},
		"nothing":                  {"# to do\n", "is empty; write a PartitionPolicy"},
		"a list":                   {"- a\n", "is not an object with apiVersion, kind, metadata and spec"},
		"not yaml":                 {"spec: {", "did not find expected"},
		"json":                     {`{"apiVersion":"aipub.io/v1alpha1","kind":"PartitionPolicy","metadata":{"name":"p"},"spec":{"set":[]}}`, `spec.set: there is no such field; did you mean "sets"?`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := parsePolicies(strings.NewReader(tc.in), "p.yaml")
			switch {
			case tc.want == "" && err != nil:
				t.Error(err)
			case tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)):
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
}

// Whatever a file holds, reading it ends in a policy or an error.
func FuzzParsePolicies(f *testing.F) {
	f.Add(policyWith(`sets: [{name: a, gpu: {count: 1}}]`))
	f.Add("a: &a [*a]")
	f.Add("- {}\n---\n{")
	f.Fuzz(func(t *testing.T, in string) {
		policies, err := parsePolicies(strings.NewReader(in), "p.yaml")
		if (len(policies) == 0) == (err == nil) {
			t.Errorf("%d policies and error %v", len(policies), err)
		}
	})
}

func TestMemoryForReading(t *testing.T) {
	for bytes, want := range map[int64]string{
		0: "0", 1023: "1023", 1024: "1Ki", 16 << 30: "16Gi", 50880 << 20: "49.7Gi", 1536 << 20: "1.5Gi",
		1<<40 - 1: "1024Gi", -(2 << 30): "-2Gi", 102298 << 20: "99.9Gi", 116 << 30: "116Gi", 1<<63 - 1: "8Ei",
	} {
		if got := memory(bytes); got != want {
			t.Errorf("memory(%d) = %s, want %s", bytes, got, want)
		}
	}
}

func TestRanges(t *testing.T) {
	for want, numbers := range map[string][]int{
		"": nil, "3": {3}, "0,1": {1, 0}, "0-3,6": {0, 1, 2, 3, 6}, "1,3,5-7": {7, 6, 5, 3, 1, 1},
	} {
		if got := ranges(numbers); got != want {
			t.Errorf("ranges(%v) = %s, want %s", numbers, got, want)
		}
	}
}

func TestNearest(t *testing.T) {
	names := []string{"cpu", "memory", "name", "gpu", "perNode"}
	for word, want := range map[string]string{
		"cpus": "cpu", "memroy": "memory", "pernode": "perNode", "namme": "name", "zzz": "", "": "", "memory-limit": "",
	} {
		got, ok := nearest(word, names)
		if ok != (want != "") || ok && got != want {
			t.Errorf("nearest(%q) = %q, %v, want %q", word, got, ok, want)
		}
	}
}
