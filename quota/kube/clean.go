// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"aipub.io/aipub/quota/objects"
)

// OpenAll opens every gate of ours in the cluster, the eldest pods first, and then
// deletes the fence: what AIPub does last, once its webhooks make no new gates. No
// quota is looked at any more. c reads from the API server itself. It tries until
// no gate is left or the context ends; the error then says what to do. progress is
// told what happens, a line at a time.
func OpenAll(ctx context.Context, c client.Client, fence client.ObjectKey, progress io.Writer) error {
	opened := 0
	for {
		n, err := openOnce(ctx, c)
		opened += n
		if n > 0 {
			_, _ = fmt.Fprintf(progress, "opened %d gates\n", opened)
		}
		if err == nil && n == 0 {
			break
		}
		if err != nil {
			_, _ = fmt.Fprintln(progress, err)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("open gates: %w: %w; see that no aipub-controller runs, then run cleanup again", ctx.Err(), orNone(err))
		case <-time.After(time.Second):
		}
	}
	err := c.Delete(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: fence.Namespace, Name: fence.Name}})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("delete config map %s: %w", fence, err)
	}
	return nil
}

var errNone = errors.New("there were gates to open at the last look")

func orNone(err error) error {
	if err == nil {
		return errNone
	}
	return err
}

// openOnce opens the gates that are closed now. It returns how many it opened.
func openOnce(ctx context.Context, c client.Client) (int, error) {
	pods, err := gatedPods(ctx, c)
	if err != nil {
		return 0, err
	}
	n := 0
	var errs []error
	for _, e := range pods {
		s := sending{
			intent:  intent{UID: e.Claim.UID, Namespace: e.Claim.Namespace, Name: e.Claim.Name, Grade: objects.Unmanaged},
			key:     e.key(),
			version: e.version, gates: e.gates,
		}
		switch _, o, err := send(ctx, c, &s); o {
		case done:
			n++
		case changed:
			// The next look tells.
		default:
			errs = append(errs, err)
		}
	}
	if n == 0 && len(errs) == 0 && len(pods) > 0 {
		errs = append(errs, errNone)
	}
	return n, errors.Join(errs...)
}

// gatedPods lists the pods with our gate, the eldest first. All pods are looked at:
// a gate may stand on one that lost its label.
func gatedPods(ctx context.Context, c client.Client) ([]*entry, error) {
	var out []*entry
	options := client.ListOptions{Limit: 1000}
	for {
		var page corev1.PodList
		if err := c.List(ctx, &page, &options); err != nil {
			return nil, fmt.Errorf("list pods: %w", err)
		}
		for i := range page.Items {
			e := readPod(&page.Items[i], nil)
			if e.Gated && !e.Ended && !e.Leaving {
				out = append(out, e)
			}
		}
		if options.Continue = page.Continue; options.Continue == "" {
			sortByAge(out)
			return out, nil
		}
	}
}
