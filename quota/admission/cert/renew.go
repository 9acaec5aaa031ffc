// SPDX-License-Identifier: Apache-2.0

package cert

import (
	"fmt"
	"time"
)

// Default lifetimes.
const (
	DefaultAuthorityLife = 10 * 365 * 24 * time.Hour
	DefaultServingLife   = 90 * 24 * time.Hour
)

// Terms say what a certificate must be good for.
type Terms struct {
	// Names are the DNS names of the server, at least one.
	Names []string
	// AuthorityLife and ServingLife are how long new certificates last; zero
	// means the defaults. AuthorityLife must be more than three serving lives.
	AuthorityLife, ServingLife time.Duration
}

func (t Terms) withDefaults() Terms {
	if t.AuthorityLife == 0 {
		t.AuthorityLife = DefaultAuthorityLife
	}
	if t.ServingLife == 0 {
		t.ServingLife = DefaultServingLife
	}
	return t
}

// Change says what Renew did.
type Change string

// What Renew can do.
const (
	// Unchanged: everything is good for now.
	Unchanged Change = "Unchanged"
	// ServingRenewed: a new serving certificate of the same authority.
	ServingRenewed Change = "ServingRenewed"
	// AuthorityAdded: a new authority stands beside the old one; the serving
	// certificate is the same.
	AuthorityAdded Change = "AuthorityAdded"
	// Issued: everything is new, since nothing usable was there.
	Issued Change = "Issued"
)

// Renew returns what the Secret should hold, given what it holds. Garbage, an
// expired authority, or a key that does not belong to its certificate count as
// nothing.
func Renew(m Material, now time.Time, terms Terms) (Material, Change, error) {
	terms = terms.withDefaults()
	signer, err := m.signer()
	if err != nil || now.Before(signer.cert.NotBefore) || !now.Before(signer.cert.NotAfter) {
		return issueAll(now, terms)
	}
	pair, err := m.serving(now, terms.Names)
	if err != nil || now.After(pair.Leaf.NotAfter.Add(-terms.ServingLife/3)) {
		renewed, err := m.withServing(signer, now, terms)
		return renewed, ServingRenewed, err
	}
	if signer.cert.NotAfter.Sub(now) < 2*terms.ServingLife {
		added, err := m.withAuthority(now, terms)
		return added, AuthorityAdded, err
	}
	return m, Unchanged, nil
}

func issueAll(now time.Time, terms Terms) (Material, Change, error) {
	signer, err := newAuthority(now, terms.AuthorityLife)
	if err != nil {
		return Material{}, "", err
	}
	key, err := encodeKey(signer.key)
	if err != nil {
		return Material{}, "", err
	}
	m := Material{Authorities: encodeCert(signer.cert.Raw), AuthorityKey: key}
	m, err = m.withServing(signer, now, terms)
	return m, Issued, err
}

// withServing replaces the serving pair and forgets expired authorities.
func (m Material) withServing(signer authority, now time.Time, terms Terms) (Material, error) {
	pair, err := signer.issue(now, terms.ServingLife, terms.Names)
	if err != nil {
		return Material{}, err
	}
	if m.Key, err = encodeKey(pair.key); err != nil {
		return Material{}, err
	}
	m.Cert = encodeCert(pair.cert.Raw)
	return m.withoutExpired(now)
}

// withAuthority puts a new authority before the others.
func (m Material) withAuthority(now time.Time, terms Terms) (Material, error) {
	added, err := newAuthority(now, terms.AuthorityLife)
	if err != nil {
		return Material{}, err
	}
	if m.AuthorityKey, err = encodeKey(added.key); err != nil {
		return Material{}, err
	}
	m.Authorities = append(encodeCert(added.cert.Raw), m.Authorities...)
	return m.withoutExpired(now)
}

func (m Material) withoutExpired(now time.Time) (Material, error) {
	certs, err := m.authorities()
	if err != nil {
		return Material{}, fmt.Errorf("drop expired authorities: %w", err)
	}
	m.Authorities = nil
	for _, c := range certs {
		if now.Before(c.NotAfter) {
			m.Authorities = append(m.Authorities, encodeCert(c.Raw)...)
		}
	}
	return m, nil
}
