// SPDX-License-Identifier: Apache-2.0

package cert

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

var secretName = types.NamespacedName{Namespace: "aipub-system", Name: "aipub-webhook-cert"}

func configurations() []client.Object {
	name := metav1.ObjectMeta{Name: "aipub"}
	other := metav1.ObjectMeta{Name: "someone-else"}
	return []client.Object{
		&admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: name,
			Webhooks: []admissionregistrationv1.MutatingWebhook{{Name: "pods.sets.aipub.io"}}},
		&admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: name,
			Webhooks: []admissionregistrationv1.ValidatingWebhook{{Name: "pods.sets.aipub.io"}, {Name: "partitionpolicies.aipub.io"}}},
		&admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: other,
			Webhooks: []admissionregistrationv1.ValidatingWebhook{{Name: "x.example.com"}}},
	}
}

func newKeeper(c client.Client, clock *testclock.FakeClock) *Keeper {
	return NewKeeper(c, secretName, Config{Terms: terms, Configuration: "aipub", Clock: clock})
}

func mustRound(t *testing.T, k *Keeper) {
	t.Helper()
	if err := k.Round(t.Context()); err != nil {
		t.Fatalf("Round: %v", err)
	}
}

// requireInStep checks that the API server would trust what the keeper serves,
// and that nobody else's configuration was touched.
func requireInStep(t *testing.T, c client.Client, k *Keeper) {
	t.Helper()
	var v admissionregistrationv1.ValidatingWebhookConfiguration
	var m admissionregistrationv1.MutatingWebhookConfiguration
	for _, into := range []client.Object{&v, &m} {
		if err := c.Get(t.Context(), client.ObjectKey{Name: "aipub"}, into); err != nil {
			t.Fatalf("read configuration: %v", err)
		}
	}
	s := k.served.Load()
	bundles := [][]byte{v.Webhooks[0].ClientConfig.CABundle, v.Webhooks[1].ClientConfig.CABundle, m.Webhooks[0].ClientConfig.CABundle}
	for i, bundle := range bundles {
		trusted := Material{Authorities: bundle, Cert: s.material.Cert, Key: s.material.Key}
		if _, err := trusted.serving(k.config.Clock.Now(), terms.Names); err != nil {
			t.Errorf("webhook %d does not trust the served certificate: %v", i, err)
		}
	}
	if err := c.Get(t.Context(), client.ObjectKey{Name: "someone-else"}, &v); err != nil {
		t.Fatalf("read configuration: %v", err)
	}
	if len(v.Webhooks[0].ClientConfig.CABundle) > 0 {
		t.Error("the configuration of somebody else was changed")
	}
}

func TestKeeperFillsAnEmptySecret(t *testing.T) {
	empty := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: secretName.Namespace, Name: secretName.Name,
		Labels: map[string]string{"app": "aipub"}}}
	c := fake.NewClientBuilder().WithObjects(append(configurations(), empty)...).Build()
	k := newKeeper(c, testclock.NewFakeClock(epoch))
	if err := k.Ready(nil); err == nil {
		t.Error("Ready before the first round: nil, want an error")
	}
	mustRound(t, k)
	requireInStep(t, c, k)
	if err := k.Ready(nil); err != nil {
		t.Errorf("Ready: %v", err)
	}
	var secret corev1.Secret
	if err := c.Get(t.Context(), secretName, &secret); err != nil {
		t.Fatal(err)
	}
	if secret.Labels["app"] != "aipub" {
		t.Error("the labels of the Secret were lost")
	}
}

func TestKeeperRotatesWithoutRestart(t *testing.T) {
	c := fake.NewClientBuilder().WithObjects(configurations()...).Build()
	clock := testclock.NewFakeClock(epoch)
	k, other := newKeeper(c, clock), newKeeper(c, clock)
	mustRound(t, k)
	first, _ := k.GetCertificate(nil)
	clock.Step(DefaultServingLife * 3 / 4)
	mustRound(t, k)
	second, _ := k.GetCertificate(nil)
	if bytes.Equal(first.Certificate[0], second.Certificate[0]) {
		t.Error("the certificate is the same after three quarters of its life")
	}
	mustRound(t, other)
	third, _ := other.GetCertificate(nil)
	if !bytes.Equal(second.Certificate[0], third.Certificate[0]) {
		t.Error("the second replica serves another certificate than the first")
	}
	requireInStep(t, c, other)
}

func TestKeeperPutsBackWhatSomebodyEmptied(t *testing.T) {
	c := fake.NewClientBuilder().WithObjects(configurations()...).Build()
	k := newKeeper(c, testclock.NewFakeClock(epoch))
	mustRound(t, k)
	before, _ := k.GetCertificate(nil)
	if err := c.Delete(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: secretName.Namespace, Name: secretName.Name}}); err != nil {
		t.Fatal(err)
	}
	var v admissionregistrationv1.ValidatingWebhookConfiguration
	if err := c.Get(t.Context(), client.ObjectKey{Name: "aipub"}, &v); err != nil {
		t.Fatal(err)
	}
	v.Webhooks[1].ClientConfig.CABundle = nil
	if err := c.Update(t.Context(), &v); err != nil {
		t.Fatal(err)
	}
	mustRound(t, k)
	after, _ := k.GetCertificate(nil)
	if !bytes.Equal(before.Certificate[0], after.Certificate[0]) {
		t.Error("a new certificate was made although a good one was being served")
	}
	requireInStep(t, c, k)
}

func TestKeepersRaceToOneAuthority(t *testing.T) {
	c := fake.NewClientBuilder().WithObjects(configurations()...).Build()
	clock := testclock.NewFakeClock(epoch)
	keepers := make([]*Keeper, 8)
	var wg sync.WaitGroup
	for i := range keepers {
		keepers[i] = newKeeper(c, clock)
		wg.Go(func() {
			if err := keepers[i].Round(t.Context()); err != nil {
				t.Errorf("Round: %v", err)
			}
		})
	}
	wg.Wait()
	first, err := keepers[0].GetCertificate(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range keepers {
		pair, err := k.GetCertificate(nil)
		if err != nil || !bytes.Equal(first.Certificate[0], pair.Certificate[0]) {
			t.Fatalf("the replicas serve different certificates (%v)", err)
		}
		requireInStep(t, c, k)
	}
}

func TestKeeperServesOnlyWhatIsTrusted(t *testing.T) {
	broken := true
	c := fake.NewClientBuilder().WithObjects(configurations()...).WithInterceptorFuncs(interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
			if broken {
				return errors.New("no right to patch")
			}
			return c.Patch(ctx, obj, patch, opts...)
		},
	}).Build()
	k := newKeeper(c, testclock.NewFakeClock(epoch))
	err := k.Round(t.Context())
	if err == nil || !strings.Contains(err.Error(), "no right to patch") {
		t.Errorf("Round: %v, want the API server's error", err)
	}
	if _, err := k.GetCertificate(nil); err == nil {
		t.Error("a certificate is served that no configuration trusts")
	}
	broken = false
	mustRound(t, k)
	requireInStep(t, c, k)
}

func TestStartGoesOnAfterAFailedRound(t *testing.T) {
	var mu sync.Mutex
	failures := 2
	c := fake.NewClientBuilder().WithObjects(configurations()...).WithInterceptorFuncs(interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
			mu.Lock()
			defer mu.Unlock()
			if failures > 0 {
				failures--
				return errors.New("API server away")
			}
			return c.Get(ctx, key, obj, opts...)
		},
	}).Build()
	clock := testclock.NewFakeClock(epoch)
	k := newKeeper(c, clock)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- k.Start(ctx) }()
	deadline := time.Now().Add(30 * time.Second)
	for k.Ready(nil) != nil {
		if time.Now().After(deadline) {
			t.Fatal("no certificate after 30 s")
		}
		if clock.HasWaiters() {
			clock.Step(DefaultInterval)
		}
		time.Sleep(time.Millisecond)
	}
	cancel()
	if err := <-done; err != nil {
		t.Errorf("Start: %v", err)
	}
}
