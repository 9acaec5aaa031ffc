// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/partitioner/kube"
	"aipub.io/aipub/quota/admission"
)

func TestWrongFlagsAreNamed(t *testing.T) {
	cases := map[string]struct {
		args []string
		want []string
	}{
		"several at once": {[]string{"--webhook-port", "0", "--namespace", "A_", "--log-level", "loud"},
			[]string{`--webhook-port: "0"`, `--namespace: "A_"`, `--log-level: "loud"`, "debug, info, warn or error"}},
		"address without port": {[]string{"--metrics-address", "localhost"}, []string{`--metrics-address: "localhost"`, "HOST:PORT"}},
		"unknown flag":         {[]string{"--webhok-port", "1"}, []string{"webhok-port"}},
		"unknown command":      {[]string{"clean"}, []string{`"clean"`}},
		"no time to clean up":  {[]string{"cleanup", "--timeout", "0s"}, []string{"--timeout", "above zero"}},
		"no such kubeconfig":   {[]string{"--kubeconfig", "/does/not/exist"}, []string{"load kubeconfig", "/does/not/exist"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			err := run(t.Context(), tc.args, &bytes.Buffer{}, &bytes.Buffer{})
			requireRefused(t, err, tc.want...)
		})
	}
}

func TestHelpAndVersion(t *testing.T) {
	for args, want := range map[string]string{
		"--help": "Examples:", "cleanup --help": "--timeout", "version": "aipub-controller dev",
	} {
		var out bytes.Buffer
		if err := run(t.Context(), strings.Fields(args), &out, &out); err != nil || !strings.Contains(out.String(), want) {
			t.Errorf("%s: error %v, output lacks %q:\n%s", args, err, want, &out)
		}
	}
}

func TestMetricsAreCleanAndForgetWhatIsGone(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	m := newMetrics(registry, func() time.Time { return time.Unix(1_800_000_000, 0) })
	m.Decided("mutate-pods", admission.DecisionRefused, admission.ReasonUnknownSet, time.Millisecond)
	status := v1alpha1.PartitionPolicyStatus{Conditions: []metav1.Condition{
		{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonApplied}}}
	m.observe(kube.Outcome{
		Policies: map[string]v1alpha1.PartitionPolicyStatus{"h200": status},
		Sets:     map[string]kube.SetOutcome{"small": {Status: v1alpha1.ResourceSetStatus{Total: 8, Free: 5, Held: 3}}},
	})
	want := `
# HELP aipub_admission_requests_total Admission reviews, by webhook, decision (allowed, refused, failed) and the first reason.
# TYPE aipub_admission_requests_total counter
aipub_admission_requests_total{decision="refused",kind="mutate-pods",reason="UnknownSet"} 1
# HELP aipub_partitionpolicy_ready 1 where a PartitionPolicy is in force, else 0, by its reason; only the leader knows.
# TYPE aipub_partitionpolicy_ready gauge
aipub_partitionpolicy_ready{policy="h200",reason="Applied"} 1
# HELP aipub_resourceset_slices Slices of each ResourceSet in the cluster, by state (total, free, held); only the leader knows.
# TYPE aipub_resourceset_slices gauge
aipub_resourceset_slices{set="small",state="free"} 5
aipub_resourceset_slices{set="small",state="held"} 3
aipub_resourceset_slices{set="small",state="total"} 8
# HELP aipub_webhook_certificate_expiry_timestamp_seconds When the served webhook certificate expires, in seconds since 1970; 0 before there is one.
# TYPE aipub_webhook_certificate_expiry_timestamp_seconds gauge
aipub_webhook_certificate_expiry_timestamp_seconds 1.8e+09
`
	names := []string{"aipub_admission_requests_total", "aipub_partitionpolicy_ready", "aipub_resourceset_slices", "aipub_webhook_certificate_expiry_timestamp_seconds"}
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want), names...); err != nil {
		t.Error(err)
	}
	problems, err := testutil.GatherAndLint(registry)
	if err != nil || len(problems) > 0 {
		t.Errorf("lint: %v %v", problems, err)
	}
	m.observe(kube.Outcome{})
	if n, err := testutil.GatherAndCount(registry, "aipub_resourceset_slices", "aipub_partitionpolicy_ready"); err != nil || n != 0 {
		t.Errorf("%d series of what is gone (%v), want none", n, err)
	}
}
