// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"testing"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"aipub.io/aipub/quota"
)

func autoscaler(name, version, scales string, least, most int32) *autoscalingv2.HorizontalPodAutoscaler {
	return &autoscalingv2.HorizontalPodAutoscaler{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name},
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: version, Kind: "Deployment", Name: scales},
			MinReplicas:    &least, MaxReplicas: most,
		},
	}
}

func TestWhichAutoscalerCounts(t *testing.T) {
	deployment := &quota.Workload{Group: "apps", Kind: "Deployment", Namespace: "ns", Name: "serve"}
	var a Autoscalers
	require := func(what string, want int64) {
		t.Helper()
		if got, known := a.least(deployment); got != want || known != (want > 0) {
			t.Errorf("%s: %d (%t), want %d", what, got, known, want)
		}
	}
	a.Set(autoscaler("of another group", "example.com/v1", "serve", 50, 99))
	a.Set(autoscaler("of none", "", "serve", 50, 99))
	a.Set(autoscaler("of no valid one", "a/b/c", "serve", 50, 99))
	a.Set(autoscaler("of another name", "apps/v1", "train", 50, 99))
	elsewhere := autoscaler("elsewhere", "apps/v1", "serve", 50, 99)
	elsewhere.Namespace = "other"
	a.Set(elsewhere)
	require("none of it", 0)

	a.Set(autoscaler("a", "apps/v1", "serve", 3, 9))
	a.Set(autoscaler("b", "apps/v1beta1", "serve", 2, 9))
	require("the larger of two", 3)
	a.Remove(autoscaler("a", "apps/v1", "serve", 3, 9))
	require("one deleted, the other left", 2)
	a.Set(autoscaler("b", "apps/v1", "serve", 7, 4))
	require("no more than its most", 4)
	a.Set(autoscaler("b", "apps/v1", "train", 7, 9))
	require("scales something else now", 0)
	a.Remove(autoscaler("unknown", "apps/v1", "serve", 1, 1))
	require("none again", 0)
}
