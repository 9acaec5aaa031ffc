// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/gpu"
	loan "aipub.io/aipub/sharer/memory"
	"aipub.io/aipub/sharer/socket"
)

// tell says what is done about memory on loan: log, metric, an event on the
// borrower's pod, and its share in the NodePartition.
func (l *loans) tell(act loan.Action) {
	a := l.agent
	message := wordsOf(act, l.parking.works())
	a.metrics.memorySteps.WithLabelValues(string(act.Kind), string(act.Reason)).Inc()
	a.log.Info("memory on loan", "kind", act.Kind, "reason", act.Reason, "slice", act.Slice, "for", act.For, "bytes", act.Bytes)
	a.mu.Lock()
	if a.climbs == nil {
		a.climbs = map[gpu.SliceID]api.Finding{}
	}
	if act.Kind == loan.Released || act.Kind == loan.Restored {
		delete(a.climbs, act.Slice)
	} else {
		a.climbs[act.Slice] = api.Finding{Reason: string(act.Kind), Message: message, Since: metav1.Now()}
	}
	a.mu.Unlock()
	notify(a.said)
	pods, _ := l.pods()
	if p, ok := holderOf(a.state.Snapshot(), act.Slice, pods); ok {
		a.tellPod(p, string(act.Kind), message)
	}
}

// forgetClimbs forgets slices that are over.
func (a *agent) forgetClimbs(view socket.View) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for id := range a.climbs {
		if !slices.ContainsFunc(view.Slices, func(v socket.SliceView) bool { return v.ID == id }) {
			delete(a.climbs, id)
		}
	}
}

// holderOf is the pod that holds a slice.
func holderOf(snap gpu.Snapshot, id gpu.SliceID, pods []gpu.Pod) (gpu.Pod, bool) {
	for _, st := range snap.Slices {
		if st.Slice.ID != id {
			continue
		}
		for _, p := range pods {
			if p.Namespace == st.Holder.Namespace && p.Name == st.Holder.Pod {
				return p, true
			}
		}
	}
	return gpu.Pod{}, false
}

// wordsOf is an action as a sentence for the borrower.
func wordsOf(act loan.Action, checkpoints bool) string {
	amount := resource.NewQuantity(int64(act.Bytes)>>20<<20, resource.BinarySI)
	why := map[loan.Reason]string{
		loan.OwnerShort: "another container needs device memory that is its own",
		loan.NewSlice:   "a new container needs the device memory that is its own",
		loan.Room:       "there is room on the GPU again",
		loan.GaveBack:   "what was asked for has been given back",
		loan.NoLonger:   "nobody is short of device memory any more",
	}[act.Reason]
	switch act.Kind {
	case loan.Refused:
		return fmt.Sprintf("allocates no more device memory beyond its guarantee, and is asked for %s: %s", amount, why)
	case loan.Trimmed:
		return fmt.Sprintf("memory pools give back what they hold in reserve, %s is asked for: %s", amount, why)
	case loan.Demoted:
		return fmt.Sprintf("managed memory moves to the host, %s is asked for: %s", amount, why)
	case loan.Checkpointed:
		return fmt.Sprintf("its processes stop, and their device memory moves to the host until there is room, since %s is still not given back: %s", amount, why)
	case loan.Ended:
		skipped := ""
		if !checkpoints {
			skipped = "; the driver cannot checkpoint processes"
		}
		return fmt.Sprintf("its processes are ended, since %s of what it borrowed was not given back in time: %s%s", amount, why, skipped)
	case loan.Restored:
		return fmt.Sprintf("its processes go on, with %s of device memory: %s", amount, why)
	default:
		return "may borrow device memory again in a while: " + why
	}
}
