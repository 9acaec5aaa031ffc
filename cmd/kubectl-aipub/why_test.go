// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "aipub.io/aipub/api/v1alpha1"
)

// podNamed is a pod of the crowd.
func (c *crowd) podNamed(name string) *corev1.Pod {
	for _, p := range c.pods {
		if p.Name == name {
			return p
		}
	}
	return nil
}

// fill gives a pod what its set was when it was made.
func fill(p *corev1.Pod, cpu, memory string) {
	c := &p.Spec.Containers[0]
	c.Resources.Limits[corev1.ResourceCPU], c.Resources.Limits[corev1.ResourceMemory] = resource.MustParse(cpu), resource.MustParse(memory)
	for name := range c.Resources.Limits {
		if set, ok := strings.CutPrefix(string(name), api.ResourcePrefix); ok {
			p.Annotations[api.SetAnnotation] = c.Name + "=" + set
		}
	}
}

func TestWhyScreens(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*crowd)
		args   string
	}{
		"why-quota":    {args: "why vision/train-a-0"},
		"why-behind":   {args: "why train-c-0 -n vision"},
		"why-no-node":  {args: "why nlp/tune-0"},
		"why-opens":    {args: "why nlp/probe"},
		"why-promoted": {args: "why nlp/embed-0", change: moveSome},
		"why-json":     {args: "why nlp/embed-0 -o json"},
		"why-unknown":  {args: "why vision/trian-a-0"},
		"why-no-name":  {args: "why vision/"},
		"why-not-said": {args: "why vision/train-c-0", change: func(c *crowd) { c.nodes.Items = nil }},
		"why-written":  {args: "why vision/train-a-0", change: func(c *crowd) { c.nodes.Items = nil }},
		"why-running":  {args: "why vision/run-0"},
		"why-plain":    {args: "why web/front", change: func(c *crowd) { c.pods = append(c.pods, plain()) }},
		"why-early":    {args: "why web/early", change: func(c *crowd) { c.pods = append(c.pods, early()) }},
		"why-scheduler": {args: "why nlp/probe", change: func(c *crowd) {
			p := c.podNamed("probe")
			open(p, "gpu-02", "Headroom")
			say(p, corev1.PodScheduled, corev1.ConditionFalse, corev1.PodReasonUnschedulable, "0/4 nodes are available: 4 Insufficient cpu.")
		}},
		"why-other-gate": {args: "why nlp/probe", change: func(c *crowd) {
			p := c.podNamed("probe")
			open(p, "gpu-02", "Borrowed")
			p.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "example.com/licence"}}
		}},
		"why-image": {args: "why vision/run-1", change: func(c *crowd) {
			p := c.podNamed("run-1")
			p.Status.Phase = corev1.PodPending
			p.Status.ContainerStatuses[0].State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff", Message: `Back-off pulling image "train:1"`}}
		}},
		"why-crash": {args: "why vision/run-0", change: func(c *crowd) {
			s := &c.podNamed("run-0").Status.ContainerStatuses[0]
			s.State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff", Message: "back-off 5m0s restarting failed container"}}
			s.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: 137, Reason: "OOMKilled"}
			s.RestartCount = 4
		}},
		"why-resized": {args: "why nlp/probe", change: func(c *crowd) {
			p := c.podNamed("probe")
			open(p, "gpu-02", "Within")
			allocated(p).Reason, allocated(p).Message = api.ReasonSetChanged, "its gate is open, on node gpu-02; set small has changed since the pod was made"
		}},
		"why-set-changed": {args: "why vision/train-a-0", change: func(c *crowd) { fill(c.podNamed("train-a-0"), "25", "15808Mi") }},
		"why-not-resized": {args: "why nlp/probe", change: func(c *crowd) {
			p := c.podNamed("probe")
			fill(p, "25", "15808Mi")
			say(p, api.ConditionAllocated, corev1.ConditionFalse, api.ReasonSetChanged, "set small has changed since the pod was made; the API server does not let it have that; delete the pod and make it anew")
		}},
		"why-yields": {args: "why vision/run-1", change: func(c *crowd) {
			p := c.podNamed("run-1")
			p.Status.Conditions[0] = corev1.PodCondition{Type: api.ConditionAllocated, Status: corev1.ConditionFalse,
				Reason: api.ReasonYieldedBorrowed, Message: "vision/Job/train-a needs what it borrows", LastTransitionTime: minutesAgo(1)}
			now := metav1.NewTime(clock)
			p.DeletionTimestamp = &now
		}},
		"why-done": {args: "why vision/run-0", change: func(c *crowd) {
			p := c.podNamed("run-0")
			p.Status.Phase = corev1.PodSucceeded
			p.Status.ContainerStatuses[0].State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: "Completed", FinishedAt: minutesAgo(5)}}
		}},
		"why-failed": {args: "why vision/run-0", change: func(c *crowd) {
			p := c.podNamed("run-0")
			p.Status.Phase, p.Status.Reason, p.Status.Message = corev1.PodFailed, "UnexpectedAdmissionError", "Pod was rejected: Allocate failed"
			p.Status.ContainerStatuses = nil
		}},
	} {
		t.Run(name, func(t *testing.T) {
			c := crowded(t)
			if tc.change != nil {
				tc.change(c)
			}
			golden(t, name, c.kubectl(t, strings.Fields(tc.args)...))
		})
	}
}

// plain is a pod that has nothing to do with AIPub.
func plain() *corev1.Pod {
	p := plainPod("web", "front", 600)
	run(p, "web-01")
	return p
}

// early asks for a set, but was made before its namespace belonged to a project.
func early() *corev1.Pod {
	p := plainPod("web", "early", 600)
	p.Spec.Containers[0].Resources.Limits = corev1.ResourceList{"aipub.io/set-small": resource.MustParse("1")}
	say(p, corev1.PodScheduled, corev1.ConditionFalse, corev1.PodReasonUnschedulable, "0/4 nodes are available")
	return p
}

// TestEveryReasonOfAClosedGateHasItsStep keeps a new reason from being shown at the
// wrong step.
func TestEveryReasonOfAClosedGateHasItsStep(t *testing.T) {
	for reason, step := range stages {
		c := crowded(t)
		p := c.podNamed("probe")
		say(p, api.ConditionAllocated, corev1.ConditionFalse, reason, "because")
		d := (&scene{pod: p, now: clock}).explain()
		waiting := 0
		for _, s := range d.Steps {
			if s.Says == saysWaits {
				waiting++
				if s.Step != step || s.Reason != reason {
					t.Errorf("%s is shown at %s as %s", reason, s.Step, s.Reason)
				}
			}
		}
		if waiting != 1 || len(d.Steps) != 5 {
			t.Errorf("%s: the pod waits at %d of %d steps", reason, waiting, len(d.Steps))
		}
	}
}
