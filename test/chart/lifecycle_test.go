// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "aipub.io/aipub/api/v1alpha1"
)

var (
	configuration = client.ObjectKey{Name: "aipub"}
	certificate   = client.ObjectKey{Namespace: namespace, Name: "aipub-webhook-cert"}
	authority     = []byte("-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n")
)

// TestLife is a release's life under Helm itself: install, upgrade, uninstall,
// install again. The clean-up Job is left out, since nothing runs pods here.
func TestLife(t *testing.T) {
	s := startServer(t)
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(kubeconfig, s.kubeconfig, 0o600); err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) {
		t.Helper()
		args = append(args, "--namespace", namespace, "--kubeconfig", kubeconfig)
		if out, stderr, err := helm(t, args...); err != nil {
			t.Fatalf("helm %q: %v\n%s%s", args, err, out, stderr)
		}
	}
	run("install", "aipub", chartDir, "--create-namespace", "--set", "cleanup.enabled=false")
	s.fillIn(t)

	run("upgrade", "aipub", chartDir, "--set", "cleanup.enabled=false", "--set", "logLevel=debug", "--set", "controller.replicas=3")
	s.expectFilledIn(t)
	s.createPolicy(t)

	run("uninstall", "aipub")
	s.expectOnlyPoliciesLeft(t)

	run("install", "aipub", chartDir, "--set", "cleanup.enabled=false")
}

// fillIn does what the controller does.
func (s *server) fillIn(t *testing.T) {
	t.Helper()
	var secret corev1.Secret
	var webhooks admissionregistrationv1.MutatingWebhookConfiguration
	s.mustGet(t, certificate, &secret)
	s.mustGet(t, configuration, &webhooks)
	secret.Data = map[string][]byte{"ca.crt": authority}
	before := webhooks.DeepCopy()
	webhooks.Webhooks[0].ClientConfig.CABundle = authority
	if err := s.admin.Update(t.Context(), &secret); err != nil {
		t.Fatalf("fill in the secret: %v", err)
	}
	if err := s.admin.Patch(t.Context(), &webhooks, client.StrategicMergeFrom(before)); err != nil {
		t.Fatalf("fill in caBundle: %v", err)
	}
}

func (s *server) expectFilledIn(t *testing.T) {
	t.Helper()
	var secret corev1.Secret
	var webhooks admissionregistrationv1.MutatingWebhookConfiguration
	s.mustGet(t, certificate, &secret)
	s.mustGet(t, configuration, &webhooks)
	if !bytes.Equal(secret.Data["ca.crt"], authority) {
		t.Errorf("the upgrade emptied the certificate's secret: it has %d keys", len(secret.Data))
	}
	if !bytes.Equal(webhooks.Webhooks[0].ClientConfig.CABundle, authority) {
		t.Errorf("the upgrade took caBundle away: it is %q", webhooks.Webhooks[0].ClientConfig.CABundle)
	}
}

func (s *server) createPolicy(t *testing.T) {
	t.Helper()
	// Nobody answers the webhook that checks policies here.
	var webhooks admissionregistrationv1.ValidatingWebhookConfiguration
	s.mustGet(t, configuration, &webhooks)
	webhooks.Webhooks = webhooks.Webhooks[:1]
	if err := s.admin.Update(t.Context(), &webhooks); err != nil {
		t.Fatal(err)
	}
	percent := int32(25)
	policy := &api.PartitionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: "kept"},
		Spec: api.PartitionPolicySpec{
			NodeSelector: metav1.LabelSelector{MatchLabels: map[string]string{"aipub.io/pool": "gpu"}},
			Sets:         []api.SetTemplate{{Name: "small", GPU: &api.SetGPU{BlockPercent: &percent}}},
		},
	}
	eventually(t, "the policy is created", func(ctx context.Context) error {
		return client.IgnoreAlreadyExists(s.admin.Create(ctx, policy.DeepCopy()))
	})
}

func (s *server) expectOnlyPoliciesLeft(t *testing.T) {
	t.Helper()
	s.mustGet(t, client.ObjectKey{Name: "kept"}, &api.PartitionPolicy{})
	for _, object := range []client.Object{
		&admissionregistrationv1.MutatingWebhookConfiguration{}, &admissionregistrationv1.ValidatingWebhookConfiguration{},
	} {
		if err := s.admin.Get(t.Context(), configuration, object); !apierrors.IsNotFound(err) {
			t.Errorf("%T is left after helm uninstall: %v", object, err)
		}
	}
	var policies admissionregistrationv1.ValidatingAdmissionPolicyList
	if err := s.admin.List(t.Context(), &policies); err != nil || len(policies.Items) > 0 {
		t.Errorf("%d admission policies are left after helm uninstall (%v)", len(policies.Items), err)
	}
}

func (s *server) mustGet(t *testing.T, key client.ObjectKey, object client.Object) {
	t.Helper()
	if err := s.admin.Get(t.Context(), key, object); err != nil {
		t.Fatalf("get %T %s: %v", object, key, err)
	}
}
