// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"syscall"
	"time"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/gpu"
	"aipub.io/aipub/sharer"
	"aipub.io/aipub/sharer/attach"
)

// attempts are what was tried about a process, for as long as it is found.
type attempts struct {
	done   bool
	failed bool
	next   sharer.Instant // after one that failed
	told   sharer.Instant // when it was last said that one failed
}

// treatAgain is how soon a treatment that failed is tried again, and tellAgain how
// soon that is said again: a budget that forbids an eviction may last for days.
const (
	treatAgain = 10 * time.Second
	tellAgain  = time.Minute
)

// loud reports whether an attempt is to be heard of.
func (n attempts) loud(now sharer.Instant) bool { return !n.failed || now.Sub(n.told) >= tellAgain }

func (n attempts) after(now sharer.Instant, o progress) attempts {
	if o == failed && n.loud(now) {
		n.told = now
	}
	switch o {
	case treatedNow:
		n.done = true
	case failed:
		n.failed, n.next = true, now.Add(treatAgain)
	case nothing:
	}
	return n
}

// progress is what came of an attempt.
type progress int

const (
	nothing progress = iota // was to be done
	treatedNow
	failed
)

// treatAll does what the policy says about findings, as far as it is due, and
// returns what was tried about each process that is still found.
func (a *agent) treatAll(ctx context.Context, found []attach.Finding, now sharer.Instant, pods []gpu.Pod, t treatment, before map[attach.ProcessID]attempts) map[attach.ProcessID]attempts {
	after := map[attach.ProcessID]attempts{}
	for _, f := range found {
		n, again := after[f.Process]
		if !again {
			n = before[f.Process]
		}
		if !n.done && now >= n.next {
			n = n.after(now, a.treat(ctx, f, now, pods, t, n.loud(now)))
		}
		after[f.Process] = n
	}
	return after
}

// treat does what the policy says about a finding. It says so on the pod, and in
// the log what goes wrong, if it is to be loud.
func (a *agent) treat(ctx context.Context, f attach.Finding, now sharer.Instant, pods []gpu.Pod, t treatment, loud bool) progress {
	policy := attach.Warn
	if p := a.last().policy; p != nil {
		policy = policyOf(p.Spec.Unattached)
	}
	switch policy.Decide(f, now, auditPatience) {
	case attach.Evict:
		p, ok := podOf(pods, f.Container)
		if !ok {
			return nothing
		}
		if loud {
			a.tellPod(p, "EvictedPastLimiter", "evicted, since "+f.Message)
		}
		if err := t.evict(ctx, p); err != nil {
			if loud {
				a.log.Error(err, "evict pod; trying again", "namespace", p.Namespace, "pod", p.Name, "every", treatAgain)
			}
			return failed
		}
		return treatedNow
	case attach.Kill:
		if p, ok := podOf(pods, f.Container); ok {
			a.tellPod(p, "KilledPastLimiter", fmt.Sprintf("killed, since %s", f.Message))
		}
		if err := kill(a.options.pids, f.Process); err != nil {
			a.log.Error(err, "kill process", "pid", f.Process.PID)
		}
		return treatedNow
	default:
		return nothing
	}
}

// policyOf translates what an administrator writes.
func policyOf(u api.Unattached) attach.Policy {
	switch u {
	case api.UnattachedEvict:
		return attach.Evict
	case api.UnattachedKill:
		return attach.Kill
	default:
		return attach.Warn
	}
}

// kill ends a process, and no other one that has its number by now.
func kill(proc string, p attach.ProcessID) error {
	now, _, err := attach.NewProc(proc).Process(p.PID)
	if err != nil || now != p {
		return nil //nolint:nilerr // it is gone
	}
	return syscall.Kill(p.PID, syscall.SIGKILL)
}
