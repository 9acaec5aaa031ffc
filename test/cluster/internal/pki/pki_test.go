// SPDX-License-Identifier: Apache-2.0

package pki

import (
	"crypto/tls"
	"crypto/x509"
	"testing"
	"time"
)

func TestIssuedCertificatesVerify(t *testing.T) {
	now := time.Now()
	authority, err := NewAuthority("test", now)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(authority.PEM.Cert) {
		t.Fatal("the authority's certificate cannot be read")
	}
	for name, test := range map[string]struct {
		subject Subject
		host    string
		usage   x509.ExtKeyUsage
		ok      bool
	}{
		"server by name":      {Subject{Name: "s", Hosts: []string{"api", "10.0.0.1"}}, "api", x509.ExtKeyUsageServerAuth, true},
		"server by address":   {Subject{Name: "s", Hosts: []string{"api", "10.0.0.1"}}, "10.0.0.1", x509.ExtKeyUsageServerAuth, true},
		"server elsewhere":    {Subject{Name: "s", Hosts: []string{"api"}}, "other", x509.ExtKeyUsageServerAuth, false},
		"client":              {Subject{Name: "c", Groups: []string{"g"}}, "", x509.ExtKeyUsageClientAuth, true},
		"client is no server": {Subject{Name: "c"}, "", x509.ExtKeyUsageServerAuth, false},
	} {
		pair, err := authority.Issue(test.subject, now)
		if err != nil {
			t.Fatal(err)
		}
		loaded, err := tls.X509KeyPair(pair.Cert, pair.Key)
		if err != nil {
			t.Fatalf("%s: certificate and key do not belong together: %v", name, err)
		}
		_, err = loaded.Leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: test.host, KeyUsages: []x509.ExtKeyUsage{test.usage}, CurrentTime: now})
		if (err == nil) != test.ok {
			t.Errorf("%s: %v", name, err)
		}
		if groups := loaded.Leaf.Subject.Organization; len(groups) != len(test.subject.Groups) {
			t.Errorf("%s: groups %v", name, groups)
		}
	}
}
