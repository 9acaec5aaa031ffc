// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"sync"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"aipub.io/aipub/quota"
	"aipub.io/aipub/quota/objects"
)

// model is what one replica knows of pods, workloads and namespaces. Informers feed
// it on every replica; the leader adds what it has decided.
type model struct {
	mu sync.Mutex
	// pods by UID. An entry goes when its pod is seen to be gone.
	pods map[string]*entry
	// gone is when pods went. An answer or a list from before may still show them, and
	// no pod comes back.
	gone   map[string]time.Time
	pruned time.Time // when gone was last looked through
	// inherited are the openings that an earlier leader may have sent.
	inherited map[string]intent
	// projects of managed namespaces.
	projects    map[string]string
	workloads   map[string]*objects.Workload // by UID
	autoscalers objects.Autoscalers
	bounds      objects.Bounds
	// changed is closed and made anew at each change.
	changed chan struct{}
	turn    uint64 // counts changes
}

func newModel() *model {
	return &model{
		pods: map[string]*entry{}, projects: map[string]string{}, workloads: map[string]*objects.Workload{},
		changed:   make(chan struct{}),
		inherited: map[string]intent{}, gone: map[string]time.Time{},
	}
}

// touched tells whoever waits that something changed. The lock is held.
func (m *model) touched() {
	m.turn++
	close(m.changed)
	m.changed = make(chan struct{})
}

// wait returns a channel that is closed at the next change, and counts the changes
// so far.
func (m *model) wait() (<-chan struct{}, uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.changed, m.turn
}

// poke counts as a change.
func (m *model) poke() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.touched()
}

// newer reports whether a resourceVersion is later than another. What cannot be
// compared counts as later, so that nothing is missed.
func newer(version, than string) bool {
	c, err := resourceversion.CompareResourceVersion(version, than)
	return err != nil || c > 0
}

// apply takes what was seen of a pod, unless something later was seen already.
func (m *model) apply(pod *corev1.Pod) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.applyLocked(pod)
}

// applyResized takes a pod as it is after the sizes of its containers were changed;
// words say how.
func (m *model) applyResized(pod *corev1.Pod, words string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.applyLocked(pod)
	if e := m.pods[string(pod.UID)]; e != nil {
		e.resized = words
	}
}

func (m *model) applyLocked(pod *corev1.Pod) {
	uid := string(pod.UID)
	before := m.pods[uid]
	if _, gone := m.gone[uid]; gone || (before != nil && !newer(pod.ResourceVersion, before.version)) {
		return
	}
	e := readPod(pod, &m.bounds)
	if before != nil {
		e.retry, e.resized = before.retry, before.resized
		e.evicted, e.freed, e.opened, e.stays = before.evicted, before.freed, before.opened, before.stays
		e.assumed = before.assumed
		// An open gate answers all questions about its opening; an end likewise.
		if !e.Gated || e.Ended {
			e.assumed = nil
		}
		if !e.Gated && before.assumed != nil {
			e.opened = before.assumed.intent.At
		}
		if !e.opened.IsZero() {
			e.Claim.Since = e.opened
		}
	}
	if in, ok := m.inherited[uid]; ok && before == nil && e.Gated {
		e.assumed = &assumption{intent: in, unknown: true}
	}
	m.pods[uid] = e
	m.touched()
}

// remove forgets a pod that is gone.
func (m *model) remove(uid string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.bury(uid)
	delete(m.inherited, uid)
	if _, known := m.pods[uid]; known {
		delete(m.pods, uid)
		m.touched()
	}
}

const (
	// remember is how long a pod that went is remembered: longer than any answer or
	// list is under way.
	remember = 10 * time.Minute
	// maxGone is from how many on the older ones are looked for.
	maxGone = 10000
)

// bury remembers that a pod went.
func (m *model) bury(uid string) {
	now := time.Now()
	if len(m.gone) >= maxGone && now.Sub(m.pruned) > remember/10 {
		m.pruned = now
		for uid, at := range m.gone {
			if now.Sub(at) > remember {
				delete(m.gone, uid)
			}
		}
	}
	m.gone[uid] = now
}

func (m *model) setNamespace(name, project string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.projects[name] == project {
		return
	}
	m.projects[name] = project
	if project == "" {
		delete(m.projects, name)
	}
	m.touched()
}

// setWorkload takes what was seen of a workload; it returns what was known before.
func (m *model) setWorkload(w *objects.Workload) *objects.Workload {
	m.mu.Lock()
	defer m.mu.Unlock()
	before := m.workloads[w.UID]
	m.workloads[w.UID] = w
	m.touched()
	return before
}

func (m *model) removeWorkload(uid string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.workloads, uid)
	m.touched()
}

func (m *model) setAutoscaler(h *autoscalingv2.HorizontalPodAutoscaler) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.autoscalers.Set(h)
	m.touched()
}

func (m *model) removeAutoscaler(h *autoscalingv2.HorizontalPodAutoscaler) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.autoscalers.Remove(h)
	m.touched()
}

// assume counts a pod as open before its opening is sent. It returns what to send,
// and false when the pod is not any more what was decided on.
func (m *model) assume(claim quota.Claim, in intent) (sending, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e := m.pods[claim.UID]
	if e == nil || !e.waits() {
		return sending{}, false
	}
	e.assumed = &assumption{intent: in}
	m.touched()
	return sending{
		intent: in, key: e.key(), version: e.version, gates: e.gates, owned: e.owned, affinity: e.affinity, fills: e.Fills,
	}, true
}

// forgetAssumption ends an assumption that is known not to have come true. retry is
// when it may be tried again.
func (m *model) forgetAssumption(uid string, retry time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.inherited, uid)
	if e := m.pods[uid]; e != nil && e.assumed != nil {
		e.assumed, e.retry = nil, retry
		m.touched()
	}
}

// doubt notes that an opening may or may not have been carried out.
func (m *model) doubt(uid string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if e := m.pods[uid]; e != nil && e.assumed != nil {
		e.assumed.unknown = true
	}
}

// doubted are the openings of unknown outcome, inherited ones included.
func (m *model) doubted() []intent {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []intent
	for uid, in := range m.inherited {
		if e := m.pods[uid]; e == nil || e.assumed == nil {
			out = append(out, in)
		}
	}
	for _, e := range m.pods {
		if e.assumed != nil && e.assumed.unknown {
			out = append(out, e.assumed.intent)
		}
	}
	return out
}

// inherit counts the openings that an earlier leader may have sent as done, until
// they are settled.
func (m *model) inherit(batch []intent) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, in := range batch {
		m.inherited[in.UID] = in
		if e := m.pods[in.UID]; e != nil && e.Gated && !e.Ended {
			e.assumed = &assumption{intent: in, unknown: true}
		}
	}
	m.touched()
}

// settled takes a pod as a touch has shown it: nothing that was sent before can
// change it any more.
func (m *model) settled(pod *corev1.Pod) {
	m.mu.Lock()
	defer m.mu.Unlock()
	uid := string(pod.UID)
	delete(m.inherited, uid)
	m.applyLocked(pod)
	if e := m.pods[uid]; e != nil && e.Gated {
		e.assumed = nil
	}
	m.touched()
}

// endList takes a list of all pods: those that it does not have, and that were not
// seen later than it, are gone.
func (m *model) endList(pods map[string]bool, version string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for uid, e := range m.pods {
		if !pods[uid] && !newer(e.version, version) {
			delete(m.pods, uid)
			delete(m.inherited, uid)
			m.bury(uid)
		}
	}
	m.touched()
}

// projectOf is the project of a namespace; empty when it has none.
func (m *model) projectOf(namespace string) string { return m.projects[namespace] }
