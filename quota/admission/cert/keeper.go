// SPDX-License-Identifier: Apache-2.0

package cert

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// Keys of the Secret.
const (
	secretAuthorities  = "ca.crt"
	secretAuthorityKey = "ca.key"
	secretCert         = corev1.TLSCertKey
	secretKey          = corev1.TLSPrivateKeyKey
)

// DefaultInterval is how often a keeper looks at the Secret and the
// configurations.
const DefaultInterval = 10 * time.Second

// maxTries bounds how often one round starts again because another replica was
// faster.
const maxTries = 5

// Config of a Keeper.
type Config struct {
	// Terms of the certificate.
	Terms Terms
	// Configuration is the name of the Mutating- and of the
	// ValidatingWebhookConfiguration that are given the authorities. One that
	// does not exist is passed over until it does.
	Configuration string
	// Interval between rounds; zero is DefaultInterval.
	Interval time.Duration
	// Clock; nil is the machine's.
	Clock clock.Clock
}

// Keeper keeps the Secret, the webhook configurations and the served
// certificate in step. Every replica runs one; they agree through the Secret's
// resourceVersion.
type Keeper struct {
	client client.Client
	secret types.NamespacedName
	config Config
	served atomic.Pointer[served]
}

type served struct {
	material Material
	pair     *tls.Certificate
}

// NewKeeper makes a keeper of the named Secret. The client must read from the
// API server itself: a keeper needs no right to list or watch.
func NewKeeper(c client.Client, secret types.NamespacedName, config Config) *Keeper {
	if config.Interval == 0 {
		config.Interval = DefaultInterval
	}
	if config.Clock == nil {
		config.Clock = clock.RealClock{}
	}
	return &Keeper{client: c, secret: secret, config: config}
}

// NeedLeaderElection is false: every replica serves.
func (k *Keeper) NeedLeaderElection() bool { return false }

// Start runs a round now and after every interval until the context ends. A
// failed round is tried again; the certificate served so far stays. It is logged
// when it fails otherwise than the round before.
func (k *Keeper) Start(ctx context.Context) error {
	last := ""
	for {
		if err := k.Round(ctx); ctx.Err() == nil {
			last = report(ctx, err, last)
		}
		timer := k.config.Clock.NewTimer(k.config.Interval)
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-timer.C():
		}
	}
}

// Round makes the Secret good, gives its authorities to the configurations, and
// then serves its certificate.
func (k *Keeper) Round(ctx context.Context) error {
	var m Material
	var err error
	for range maxTries {
		if m, err = k.agree(ctx); !apierrors.IsConflict(err) && !apierrors.IsAlreadyExists(err) {
			break
		}
	}
	if err != nil {
		return err
	}
	if err := k.inject(ctx, m.Authorities); err != nil {
		return err
	}
	if now := k.served.Load(); now != nil && string(now.material.Cert) == string(m.Cert) {
		k.served.Store(&served{material: m, pair: now.pair})
		return nil
	}
	pair, err := m.serving(k.config.Clock.Now(), k.config.Terms.Names)
	if err != nil {
		return err
	}
	k.served.Store(&served{material: m, pair: pair})
	log.FromContext(ctx).Info("Serving certificate", "notAfter", pair.Leaf.NotAfter)
	return nil
}

// agree reads the Secret and renews it where needed. It returns a conflict when
// another replica wrote meanwhile.
func (k *Keeper) agree(ctx context.Context) (Material, error) {
	var secret corev1.Secret
	err := k.client.Get(ctx, k.secret, &secret)
	missing := apierrors.IsNotFound(err)
	if err != nil && !missing {
		return Material{}, fmt.Errorf("read secret %s: %w", k.secret, err)
	}
	now := k.config.Clock.Now()
	found := Material{
		Authorities: secret.Data[secretAuthorities], AuthorityKey: secret.Data[secretAuthorityKey],
		Cert: secret.Data[secretCert], Key: secret.Data[secretKey],
	}
	m, change, err := Renew(found, now, k.config.Terms)
	if change == Issued {
		// Somebody emptied the Secret while we hold a good one: putting that
		// back spares the other replicas a change of authority.
		if s := k.served.Load(); s != nil {
			m, _, err = Renew(s.material, now, k.config.Terms)
		}
	}
	if err != nil {
		return Material{}, fmt.Errorf("renew certificate: %w", err)
	}
	if change == Unchanged {
		return m, nil
	}
	secret.Data = map[string][]byte{
		secretAuthorities: m.Authorities, secretAuthorityKey: m.AuthorityKey,
		secretCert: m.Cert, secretKey: m.Key,
	}
	if missing {
		secret.Namespace, secret.Name = k.secret.Namespace, k.secret.Name
		err = k.client.Create(ctx, &secret)
	} else {
		err = k.client.Update(ctx, &secret)
	}
	if missing && (apierrors.IsForbidden(err) || apierrors.IsNotFound(err)) {
		return Material{}, &MissingSecretError{Secret: k.secret, err: err}
	}
	if err != nil {
		return Material{}, fmt.Errorf("write secret %s: %w", k.secret, err)
	}
	log.FromContext(ctx).Info("Renewed certificate", "change", change)
	return m, nil
}

// errNotServed is what callers see before the first round.
var errNotServed = errors.New("no certificate yet: the secret or the webhook configurations could not be read or written so far")

// GetCertificate is for a server's TLS configuration.
func (k *Keeper) GetCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	s := k.served.Load()
	if s == nil {
		return nil, errNotServed
	}
	return s.pair, nil
}

// Ready is a readiness check: nil once a certificate is served that is valid
// now.
func (k *Keeper) Ready(*http.Request) error {
	s := k.served.Load()
	if s == nil {
		return errNotServed
	}
	if end := s.pair.Leaf.NotAfter; k.config.Clock.Now().After(end) {
		return fmt.Errorf("serve certificate: it expired at %s", end.Format(time.RFC3339))
	}
	return nil
}

// Expiry is the end of the served certificate's life; zero before there is one.
func (k *Keeper) Expiry() time.Time {
	if s := k.served.Load(); s != nil {
		return s.pair.Leaf.NotAfter
	}
	return time.Time{}
}
