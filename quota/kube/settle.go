// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"fmt"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// settle finds out what came of openings of unknown outcome. What cannot be settled
// now stays charged and is tried in the next round.
func (l *Leader) settle(ctx context.Context) {
	log := logr.FromContextOrDiscard(ctx)
	for _, in := range l.watch.model.doubted() {
		l.nonce++
		pod, err := touch(ctx, l.client, in, fmt.Sprintf("%d.%d", l.fence.record.Epoch, l.nonce))
		switch {
		case err != nil:
			log.Info("Outcome of an opening is still unknown; it counts as open", "error", err.Error())
			if ctx.Err() != nil {
				return
			}
		case pod == nil:
			l.watch.model.remove(in.UID)
		default:
			l.watch.model.settled(pod)
		}
	}
}

// relist takes all managed pods from the API server itself, as of one moment.
func (l *Leader) relist(ctx context.Context) (int, error) {
	m := l.watch.model
	seen, version := map[string]bool{}, ""
	options := client.ListOptions{LabelSelector: managedPods, Limit: 5000}
	for {
		var page corev1.PodList
		if err := l.client.List(ctx, &page, &options); err != nil {
			return 0, fmt.Errorf("list managed pods: %w", err)
		}
		for i := range page.Items {
			seen[string(page.Items[i].UID)] = true
			m.apply(&page.Items[i])
		}
		version = page.ResourceVersion
		if options.Continue = page.Continue; options.Continue == "" {
			m.endList(seen, version)
			return len(seen), nil
		}
	}
}
