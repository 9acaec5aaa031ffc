// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"

	"aipub.io/aipub/quota/admission"
)

// The policies, the webhooks' conditions and the controller believe the same
// controllers.
func TestOneListOfTrustedControllers(t *testing.T) {
	const further = "system:serviceaccount:kubeflow:notebook-controller-service-account"
	for name, tc := range map[string]struct {
		flags []string
		want  []string
	}{
		"default": {nil, admission.DefaultTrusted(namespace)},
		"further": {[]string{"--set", "identity.trustedControllers={" + further + "}"}, append(admission.DefaultTrusted(namespace), further)},
	} {
		t.Run(name, func(t *testing.T) {
			objects := render(t, tc.flags...)
			var got []string
			for _, arg := range into[appsv1.Deployment](t, find(t, objects, "Deployment", "aipub-controller")).Spec.Template.Spec.Containers[0].Args {
				if user, is := strings.CutPrefix(arg, "--trusted-controller="); is {
					got = append(got, user)
				}
			}
			slices.Sort(got)
			slices.Sort(tc.want)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("trusted controllers (-want +got):\n%s", diff)
			}
			manifests := template(t, tc.flags...)
			for _, user := range tc.want {
				if lists, all := strings.Count(manifests, `"`+user+`"`)+strings.Count(manifests, "'"+user+"'"), strings.Count(manifests, "system:kube-controller-manager")-1; lists < all {
					t.Errorf("%s is in %d of %d lists", user, lists, all)
				}
			}
		})
	}
}

func TestBadIdentityValuesAreRefused(t *testing.T) {
	for value, sentence := range map[string]string{
		"identity.trustedControllers={a b}": "does not match pattern",
		"identity.kinds[0].kind=Notebook":   "missing properties",
		"identity.owners=x":                 "additional properties 'owners' not allowed",
		"identity.kinds[0].type=Batch,identity.kinds[0].group=example.com,identity.kinds[0].kind=A,identity.kinds[0].resource=as": "value must be one of",
	} {
		if _, stderr, err := helm(t, "template", "aipub", chartDir, "--set", value); err == nil || !strings.Contains(stderr, sentence) {
			t.Errorf("%s: %v\n%s", value, err, stderr)
		}
	}
}
