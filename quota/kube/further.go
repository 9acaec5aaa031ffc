// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// further are kinds of workloads that others define, such as Notebooks. Only their
// places in the queue are read. So that a broken one stops nobody, nothing waits for
// them longer than furtherPatience.
type further struct {
	kinds  []metadataKind
	absent []schema.GroupKind
	synced []toolscache.InformerSynced
}

// furtherPatience is how long a start waits for the places of further kinds.
const furtherPatience = 10 * time.Second

// findKinds asks the cluster in which version it serves kinds.
func findKinds(config *rest.Config, kinds []schema.GroupKind) (further, error) {
	var out further
	if len(kinds) == 0 {
		return out, nil
	}
	http, err := rest.HTTPClientFor(config)
	if err != nil {
		return out, fmt.Errorf("make client: %w", err)
	}
	mapper, err := apiutil.NewDynamicRESTMapper(config, http)
	if err != nil {
		return out, fmt.Errorf("find kinds: %w", err)
	}
	for _, kind := range kinds {
		mapping, err := mapper.RESTMapping(kind)
		switch {
		case meta.IsNoMatchError(err):
			out.absent = append(out.absent, kind)
		case err != nil:
			return out, fmt.Errorf("find kind %s: %w", kind, err)
		default:
			out.kinds = append(out.kinds, metadataKind{mapping.GroupVersionKind})
		}
	}
	return out, nil
}

// tell says which kinds are missing.
func (f *further) tell(ctx context.Context) {
	for _, kind := range f.absent {
		logr.FromContextOrDiscard(ctx).Info("The cluster does not have this kind; places of its objects in the queue count once it has and the controller was started anew", "kind", kind.String())
	}
}

// ready reports whether the kinds are known, or were waited for long enough.
func (f *further) ready(waited time.Duration) bool {
	if waited >= furtherPatience {
		return true
	}
	for _, synced := range f.synced {
		if !synced() {
			return false
		}
	}
	return true
}
