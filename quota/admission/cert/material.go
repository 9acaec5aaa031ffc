// SPDX-License-Identifier: Apache-2.0

package cert

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"time"
)

// backdate is how far before now a certificate becomes valid, for API servers
// whose clock is behind ours.
const backdate = time.Hour

// Material is the content of the Secret, PEM throughout.
type Material struct {
	// Authorities are the certificates of the authorities to trust: the one
	// that signs first, then earlier ones that are still valid.
	Authorities []byte
	// AuthorityKey is the private key of the first authority.
	AuthorityKey []byte
	// Cert and Key are the serving pair.
	Cert, Key []byte
}

// authority is a parsed signing authority.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// authorities parses the trusted certificates.
func (m Material) authorities() ([]*x509.Certificate, error) {
	var certs []*x509.Certificate
	for rest := m.Authorities; len(bytes.TrimSpace(rest)) > 0; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			return nil, fmt.Errorf("decode authorities: no PEM block")
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("parse authority: %w", err)
		}
		certs = append(certs, c)
	}
	if len(certs) == 0 {
		return nil, fmt.Errorf("decode authorities: none")
	}
	return certs, nil
}

// signer parses the first authority with its key and sees that they belong
// together.
func (m Material) signer() (authority, error) {
	certs, err := m.authorities()
	if err != nil {
		return authority{}, err
	}
	pair, err := tls.X509KeyPair(encodeCert(certs[0].Raw), m.AuthorityKey)
	if err != nil {
		return authority{}, fmt.Errorf("parse authority key: %w", err)
	}
	key, ok := pair.PrivateKey.(*ecdsa.PrivateKey)
	if !ok || !certs[0].IsCA {
		return authority{}, fmt.Errorf("parse authority: not an ECDSA authority")
	}
	return authority{cert: certs[0], key: key}, nil
}

// serving parses the serving pair and sees that one of the authorities signed
// it for all of the names, and that it is valid now.
func (m Material) serving(now time.Time, names []string) (*tls.Certificate, error) {
	pair, err := tls.X509KeyPair(m.Cert, m.Key)
	if err != nil {
		return nil, fmt.Errorf("parse serving pair: %w", err)
	}
	certs, err := m.authorities()
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	for _, c := range certs {
		roots.AddCert(c)
	}
	for _, name := range names {
		if _, err := pair.Leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: name, CurrentTime: now}); err != nil {
			return nil, fmt.Errorf("verify serving certificate: %w", err)
		}
	}
	return &pair, nil
}

// newAuthority makes an authority of our own.
func newAuthority(now time.Time, life time.Duration) (authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return authority{}, fmt.Errorf("generate authority key: %w", err)
	}
	template, err := newTemplate("aipub webhook authority", now, life)
	if err != nil {
		return authority{}, err
	}
	template.IsCA = true
	template.BasicConstraintsValid = true
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature
	return sign(template, authority{cert: template, key: key}, key)
}

// issue makes a serving pair.
func (a authority) issue(now time.Time, life time.Duration, names []string) (authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return authority{}, fmt.Errorf("generate serving key: %w", err)
	}
	template, err := newTemplate(names[0], now, life)
	if err != nil {
		return authority{}, err
	}
	template.DNSNames = names
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	return sign(template, a, key)
}

func newTemplate(name string, now time.Time, life time.Duration) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, fmt.Errorf("draw serial number: %w", err)
	}
	return &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: name},
		NotBefore:    now.Add(-backdate),
		NotAfter:     now.Add(life),
	}, nil
}

func sign(template *x509.Certificate, by authority, key *ecdsa.PrivateKey) (authority, error) {
	der, err := x509.CreateCertificate(rand.Reader, template, by.cert, &key.PublicKey, by.key)
	if err != nil {
		return authority{}, fmt.Errorf("sign certificate: %w", err)
	}
	c, err := x509.ParseCertificate(der)
	if err != nil {
		return authority{}, fmt.Errorf("parse certificate: %w", err)
	}
	return authority{cert: c, key: key}, nil
}

func encodeCert(der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

func encodeKey(key *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("encode key: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), nil
}
