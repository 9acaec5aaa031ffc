// SPDX-License-Identifier: Apache-2.0

package cert

import (
	"bytes"
	"testing"
	"time"
)

var (
	epoch = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	terms = Terms{Names: []string{"aipub-webhook.aipub-system.svc", "aipub-webhook.aipub-system.svc.cluster.local"}}
)

func mustRenew(t *testing.T, m Material, now time.Time, want Change) Material {
	t.Helper()
	m, change, err := Renew(m, now, terms)
	if err != nil {
		t.Fatalf("Renew: %v", err)
	}
	if change != want {
		t.Fatalf("Renew at %s: change %s, want %s", now.Format(time.DateOnly), change, want)
	}
	if _, err := m.serving(now, terms.Names); err != nil {
		t.Fatalf("after Renew the pair does not serve: %v", err)
	}
	return m
}

func TestRenewIsDoneAfterOneStep(t *testing.T) {
	m := mustRenew(t, Material{}, epoch, Issued)
	mustRenew(t, m, epoch, Unchanged)
}

func TestRenewOfUnusableMaterial(t *testing.T) {
	good := mustRenew(t, Material{}, epoch, Issued)
	other := mustRenew(t, Material{}, epoch, Issued)
	cases := map[string]struct {
		change func(*Material)
		now    time.Time
		want   Change
	}{
		"garbage authorities":      {func(m *Material) { m.Authorities = []byte("hello") }, epoch, Issued},
		"empty authorities":        {func(m *Material) { m.Authorities = nil }, epoch, Issued},
		"truncated authority":      {func(m *Material) { m.Authorities = m.Authorities[:80] }, epoch, Issued},
		"key of another authority": {func(m *Material) { m.AuthorityKey = other.AuthorityKey }, epoch, Issued},
		"authority expired":        {func(*Material) {}, epoch.Add(DefaultAuthorityLife), Issued},
		"clock before it all":      {func(*Material) {}, epoch.AddDate(-1, 0, 0), Issued},
		"garbage certificate":      {func(m *Material) { m.Cert = []byte("hello") }, epoch, ServingRenewed},
		"key of another pair":      {func(m *Material) { m.Key = other.Key }, epoch, ServingRenewed},
		"pair of another authority": {func(m *Material) { m.Cert, m.Key = other.Cert, other.Key },
			epoch, ServingRenewed},
		"serving certificate expired": {func(*Material) {}, epoch.Add(DefaultServingLife + time.Hour), ServingRenewed},
		"a third of its life left":    {func(*Material) {}, epoch.Add(DefaultServingLife * 3 / 4), ServingRenewed},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			m := good
			tc.change(&m)
			m = mustRenew(t, m, tc.now, tc.want)
			mustRenew(t, m, tc.now, Unchanged)
		})
	}
}

func TestRenewForOtherNames(t *testing.T) {
	m := mustRenew(t, Material{}, epoch, Issued)
	renamed := Terms{Names: []string{"other.aipub-system.svc"}}
	m, change, err := Renew(m, epoch, renamed)
	if err != nil || change != ServingRenewed {
		t.Fatalf("change %s, error %v; want %s", change, err, ServingRenewed)
	}
	if _, err := m.serving(epoch, renamed.Names); err != nil {
		t.Errorf("the pair does not serve the new name: %v", err)
	}
}

// An API server that trusts the authorities of one step must be able to talk to
// a replica that still serves the certificate of the step before, and the other
// way round, over more than one whole life of an authority.
func TestRotationNeverBreaksTrust(t *testing.T) {
	m := mustRenew(t, Material{}, epoch, Issued)
	seen := map[Change]int{}
	for now := epoch; now.Before(epoch.Add(DefaultAuthorityLife * 5 / 2)); now = now.Add(10 * 24 * time.Hour) {
		next, change, err := Renew(m, now, terms)
		if err != nil {
			t.Fatalf("Renew: %v", err)
		}
		seen[change]++
		oldServing := Material{Authorities: next.Authorities, Cert: m.Cert, Key: m.Key}
		newServing := Material{Authorities: m.Authorities, Cert: next.Cert, Key: next.Key}
		for what, mixed := range map[string]Material{"old pair, new authorities": oldServing, "new pair, old authorities": newServing} {
			if _, err := mixed.serving(now, terms.Names); err != nil {
				t.Fatalf("%s, %s, %s: %v", now.Format(time.DateOnly), change, what, err)
			}
		}
		if n := bytes.Count(next.Authorities, []byte("BEGIN")); n > 2 {
			t.Fatalf("%s: %d authorities, want at most 2", now.Format(time.DateOnly), n)
		}
		m = next
	}
	if seen[Issued] != 0 || seen[AuthorityAdded] < 2 || seen[ServingRenewed] < 100 {
		t.Errorf("changes seen: %v; want no %s, at least 2 × %s and 100 × %s", seen, Issued, AuthorityAdded, ServingRenewed)
	}
}
