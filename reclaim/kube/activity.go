// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "aipub.io/aipub/api/v1alpha1"
)

// Fields by which the cache is asked.
const (
	// holderField of a NodePartition: the pods that hold its slices, NAMESPACE/NAME.
	holderField = "aipub.holders"
	// workloadField of a pod: the workload that it belongs to.
	workloadField = "aipub.workload"
)

// Index has the cache answer who holds what and which pods a workload has.
func Index(ctx context.Context, indexer client.FieldIndexer) error {
	holders := func(o client.Object) []string {
		var out []string
		if n, ok := o.(*api.NodePartition); ok {
			for _, s := range n.Status.Slices {
				if s.Holder != nil {
					out = append(out, s.Holder.Namespace+"/"+s.Holder.Pod)
				}
			}
		}
		return out
	}
	workload := func(o client.Object) []string {
		if name := o.GetAnnotations()[api.WorkloadAnnotation]; name != "" {
			return []string{name}
		}
		return nil
	}
	if err := indexer.IndexField(ctx, &api.NodePartition{}, holderField, holders); err != nil {
		return fmt.Errorf("index holders: %w", err)
	}
	if err := indexer.IndexField(ctx, &corev1.Pod{}, workloadField, workload); err != nil {
		return fmt.Errorf("index workloads: %w", err)
	}
	return nil
}

// activity is what the nodes saw of pods' work: one entry for each slice that they
// hold. unseen is true when a node says nothing of a slice that a pod holds, or knows
// of none.
func activity(ctx context.Context, reader client.Reader, pods []*corev1.Pod) (seen []api.SliceActivity, unseen bool, err error) {
	for _, p := range pods {
		var partitions api.NodePartitionList
		holder := p.Namespace + "/" + p.Name
		if err := reader.List(ctx, &partitions, client.MatchingFields{holderField: holder}, client.UnsafeDisableDeepCopy); err != nil {
			return nil, false, fmt.Errorf("list node partitions: %w", err)
		}
		found := false
		for i := range partitions.Items {
			if partitions.Items[i].Name != p.Spec.NodeName {
				continue // of a pod of the same name, elsewhere before
			}
			for _, s := range partitions.Items[i].Status.Slices {
				if s.Holder == nil || s.Holder.Namespace != p.Namespace || s.Holder.Pod != p.Name {
					continue
				}
				found = true
				if s.Activity == nil {
					unseen = true
					continue
				}
				seen = append(seen, *s.Activity)
			}
		}
		unseen = unseen || !found
	}
	return seen, unseen, nil
}
