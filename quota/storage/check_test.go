// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"fmt"
	"math"
	"testing"

	api "aipub.io/aipub/api/v1alpha1"
)

func TestScopes(t *testing.T) {
	b := NewBook([]api.StorageQuota{
		quotaOf("alice", api.QuotaScope{User: "alice"}, "30Gi", -1),
		quotaOf("alice-vision", api.QuotaScope{Project: "vision", User: "alice"}, "20Gi", -1),
		quotaOf("each", api.QuotaScope{Project: "vision", EachUser: true}, "25Gi", 2),
		quotaOf("vision", api.QuotaScope{Project: "vision"}, "40Gi", -1, "fast", "35Gi"),
	})
	b.Charge(claim("a1", "a1", "alice", 10*gi))
	requireShort(t, b.Check("x", claim("x", "x", "alice", 10*gi)))
	requireShort(t, b.Check("x", claim("x", "x", "alice", 10*gi+1)), "alice-vision/total")
	requireShort(t, b.Check("x", claim("x", "x", "bob", 25*gi)))
	requireShort(t, b.Check("x", claim("x", "x", "bob", 25*gi+1)), "each/total", "vision/perStorageClass")
	b.Charge(claim("b1", "b1", "bob", 20*gi))
	requireShort(t, b.Check("x", claim("x", "x", "carol", 6*gi)), "vision/perStorageClass")
	slow := claim("x", "x", "carol", 10*gi)
	slow.Class = "slow"
	requireShort(t, b.Check("x", slow))
	slow.Bytes++
	requireShort(t, b.Check("x", slow), "vision/total")
	b.Charge(claim("b2", "b2", "bob", 1))
	requireShort(t, b.Check("x", claim("x", "x", "bob", 1)), "each/volumes")

	elsewhere := claim("x", "x", "alice", 20*gi)
	elsewhere.Owner.Project = "nlp"
	requireShort(t, b.Check("x", elsewhere))
	elsewhere.Bytes++
	requireShort(t, b.Check("x", elsewhere), "alice/total")
	if b.Binds(Owner{"nlp", "bob"}) || !b.Binds(Owner{"nlp", "alice"}) || !b.Binds(Owner{"vision", ""}) {
		t.Error("a quota binds whom it does not name, or not whom it names")
	}
}

func TestRoomIsNeededOnlyForWhatIsAdded(t *testing.T) {
	b := NewBook([]api.StorageQuota{quotaOf("vision", api.QuotaScope{Project: "vision"}, "40Gi", 5, "fast", "10Gi")})
	have := claim("a", "a", "alice", 30*gi)
	b.Charge(have)
	if over := b.Over("vision"); len(over) != 1 || over[0].Measure != PerClass {
		t.Fatalf("over: %+v, want the class alone", over)
	}
	slow := claim("x", "x", "alice", 10*gi)
	slow.Class = "slow"
	requireShort(t, b.Check("x", slow))
	larger := have
	larger.Bytes = 35 * gi
	requireShort(t, b.Check(ChangeKey(have, larger), larger), "vision/perStorageClass")
	requireShort(t, b.Check(ChangeKey(have, have), have))
	larger.Class, larger.Bytes = "slow", 40*gi
	requireShort(t, b.Check(ChangeKey(have, larger), larger))
}

func TestOneNameCountsOnce(t *testing.T) {
	b := NewBook([]api.StorageQuota{quotaOf("vision", api.QuotaScope{Project: "vision"}, "10Gi", 1)})
	for i := range 200 {
		c := claim(fmt.Sprintf("u%d", i), "data", "alice", 10*gi)
		requireShort(t, b.Check(CreateKey(c), c))
		b.Reserve(reservation(c))
	}
	requireShort(t, b.Check("x", claim("x", "other", "bob", 1)), "vision/total", "vision/volumes")
	c := claim("u7", "data", "alice", 10*gi)
	c.Version = 9
	b.Charge(c)
	if got := b.Status("vision"); got.Used.Total.Value() != 10*gi || got.Used.Volumes != 1 || got.Reserved.Total != nil || got.Reserved.Volumes != 0 {
		t.Errorf("status: %+v", got)
	}
	if state, version := b.StateOf(reservation(c)); state != Met || version != 9 {
		t.Errorf("state %v at %d, want met at 9", state, version)
	}
	b.Release("u7")
	b.SetReservations(nil)
	requireShort(t, b.Check("x", claim("x", "other", "bob", 10*gi)))
	b.Reserve(reservation(c))
	if state, _ := b.StateOf(reservation(c)); state != Gone {
		t.Errorf("state %v of a deleted claim, want gone", state)
	}
	requireShort(t, b.Check("x", claim("x", "other", "bob", 10*gi)))
}

func TestEnlargementsCountTheLargest(t *testing.T) {
	b := NewBook([]api.StorageQuota{quotaOf("vision", api.QuotaScope{Project: "vision"}, "100Gi", -1)})
	have := claim("a", "a", "alice", 10*gi)
	b.Charge(have)
	for _, size := range []int64{60, 50, 70} {
		larger := have
		larger.Bytes = size * gi
		key := ChangeKey(have, larger)
		requireShort(t, b.Check(key, larger))
		b.Reserve(Reservation{Key: key, Claim: larger})
	}
	if got := b.Status("vision"); got.Used.Total.Value() != 10*gi || got.Reserved.Total.Value() != 60*gi {
		t.Errorf("used %s, reserved %s; want 10Gi and 60Gi", got.Used.Total, got.Reserved.Total)
	}
	requireShort(t, b.Check("x", claim("x", "x", "bob", 30*gi)))
	requireShort(t, b.Check("x", claim("x", "x", "bob", 30*gi+1)), "vision/total")
	b.Release("a")
	if got := b.Status("vision"); got.Used.Total != nil || got.Reserved.Total != nil {
		t.Errorf("after the claim is gone: %+v", got)
	}
}

// TestHugeClaimsDoNotWrap has sums that no int64 holds, and then a limit.
func TestHugeClaimsDoNotWrap(t *testing.T) {
	b := NewBook(nil)
	for i := range 10 {
		b.Charge(claim(fmt.Sprint(i), fmt.Sprint(i), "alice", math.MaxInt64))
	}
	b.SetQuotas([]api.StorageQuota{quotaOf("vision", api.QuotaScope{Project: "vision"}, "1Gi", -1)})
	requireShort(t, b.Check("x", claim("x", "x", "alice", 1)), "vision/total")
	if over := b.Over("vision"); len(over) != 1 {
		t.Errorf("over: %+v", over)
	}
	for i := range 10 {
		b.Release(fmt.Sprint(i))
	}
	requireShort(t, b.Check("x", claim("x", "x", "alice", gi)))
}
