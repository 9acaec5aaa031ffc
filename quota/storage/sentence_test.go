// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"math"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"

	api "aipub.io/aipub/api/v1alpha1"
)

func TestSentences(t *testing.T) {
	project := api.QuotaScope{Project: "vision"}
	each := api.QuotaScope{Project: "vision", EachUser: true}
	fill := func(quotas ...api.StorageQuota) *Book {
		b := NewBook(quotas)
		b.Charge(claim("a", "a", "alice", 1536*gi))
		b.Charge(claim("b", "b", "bob", 400*gi))
		c := claim("c", "c", "carol", 10*gi)
		c.Namespace = "elsewhere"
		b.Charge(c)
		b.Charge(claim("d", "d", "project:vision", 2*gi))
		return b
	}
	for _, c := range []struct {
		name  string
		book  *Book
		claim Claim
		want  string
	}{
		{"a project's total", fill(quotaOf("vision", project, "2Ti", -1)), claim("x", "x", "bob", 500*gi),
			"project vision has claimed 1.9Ti of 2Ti (quota vision): alice 1.5Ti, bob 400Gi, 2 more. " +
				"Ask for 100Gi or less, delete claims of yours that are not needed, or ask an administrator to raise the quota."},
		{"who has none", fill(quotaOf("vision", project, "1948Gi", -1)), claim("x", "x", "dan", 5*gi),
			"project vision has claimed 1.9Ti of 1.9Ti (quota vision): alice 1.5Ti, bob 400Gi, 2 more. " +
				"Have them delete claims that are not needed, or ask an administrator to raise the quota."},
		{"a class", fill(quotaOf("vision", project, "-", -1, "fast", "2000Gi")), claim("x", "x", "bob", 500*gi),
			"project vision has claimed 1.9Ti of 1.95Ti of StorageClass fast (quota vision): alice 1.5Ti, bob 400Gi, 2 more. " +
				"Ask for 52Gi or less, delete claims of yours that are not needed, take another StorageClass, or ask an administrator to raise the quota."},
		{"how many", fill(quotaOf("vision", project, "-", 4)), claim("x", "x", "alice", gi),
			"project vision has claimed 4 of 4 volumes (quota vision): alice 1, bob 1, 2 more. " +
				"Delete claims of yours that are not needed, or ask an administrator to raise the quota."},
		{"a person in a project", fill(quotaOf("each", each, "500Gi", -1)), claim("x", "x", "bob", 200*gi),
			"bob has claimed 400Gi of 500Gi in project vision (quota each): team/b 400Gi. " +
				"Ask for 100Gi or less, delete claims of yours that are not needed, or ask an administrator to raise the quota."},
		{"a person's number", fill(quotaOf("each", each, "-", 1)), claim("x", "x", "bob", gi),
			"bob has claimed 1 of 1 volume in project vision (quota each). " +
				"Delete claims of yours that are not needed, or ask an administrator to raise the quota."},
		{"a person everywhere", fill(quotaOf("bob", api.QuotaScope{User: "bob"}, "500Gi", -1)), elsewhere(claim("x", "x", "bob", 200*gi)),
			"bob has claimed 400Gi of 500Gi (quota bob): 400Gi in another project. " +
				"Ask for 100Gi or less, delete claims of yours that are not needed, or ask an administrator to raise the quota."},
		{"more than there may be", fill(quotaOf("vision", project, "1Ti", -1)), claim("x", "x", "bob", 2000*gi),
			"project vision may claim at most 1Ti in all (quota vision). Ask for less, or ask an administrator to raise the quota."},
		{"none of a class", fill(quotaOf("vision", project, "-", -1, "fast", "0")), claim("x", "x", "bob", gi),
			"project vision may claim none of StorageClass fast (quota vision). Take another StorageClass, or ask an administrator to raise the quota."},
	} {
		got := c.book.Check("x", c.claim)
		if len(got) != 1 {
			t.Errorf("%s: %d shortfalls, want 1", c.name, len(got))
			continue
		}
		if s := got[0].Sentence(c.book.Sees("team", c.claim.Owner.User)); s != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, s, c.want)
		}
	}
}

// elsewhere is a claim in another project.
func elsewhere(c Claim) Claim {
	c.Namespace, c.Owner.Project = "nlp", "nlp"
	return c
}

func TestSentenceSaysWhatWasAdmittedAMomentAgo(t *testing.T) {
	b := NewBook([]api.StorageQuota{quotaOf("vision", api.QuotaScope{Project: "vision"}, "10Gi", -1)})
	b.Reserve(reservation(claim("a", "a", "alice", 9*gi)))
	want := "project vision has claimed 0 bytes of 10Gi, and 9Gi more a moment ago (quota vision). Ask for 1Gi or less, or ask an administrator to raise the quota."
	got := b.Check("x", claim("x", "x", "bob", 2*gi))
	if len(got) != 1 || got[0].Sentence(b.Sees("team", "bob")) != want {
		t.Errorf("got %+v\n%s\nwant %s", got, got[0].Sentence(b.Sees("team", "bob")), want)
	}
}

func TestExcessSaysThatNothingIsTakenAway(t *testing.T) {
	b := NewBook([]api.StorageQuota{quotaOf("each", api.QuotaScope{Project: "vision", EachUser: true}, "1Gi", -1)})
	b.Charge(claim("a", "a", "alice", 3*gi))
	over := b.Over("each")
	const want = "alice has claimed 3Gi of 1Gi in project vision (quota each): nothing is taken away, and nothing new fits until less is claimed"
	if len(over) != 1 || over[0].Sentence() != want {
		t.Errorf("over: %+v", over)
	}
}

// FuzzRoundedDown has no advice be too large.
func FuzzRoundedDown(f *testing.F) {
	for _, n := range []int64{0, 1, 1023, 1024, 1<<20 - 1, 1<<30 + 1, 1<<60 + 7, math.MaxInt64} {
		f.Add(n)
	}
	f.Fuzz(func(t *testing.T, n int64) {
		if n < 1<<10 {
			return
		}
		q, err := resource.ParseQuantity(roundedDown(n))
		if err != nil {
			t.Fatalf("%d is %q: %v", n, roundedDown(n), err)
		}
		if got := q.Value(); got > n || n-got > n/64 {
			t.Errorf("%d is %q, which is %d", n, roundedDown(n), got)
		}
	})
}
