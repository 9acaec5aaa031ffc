// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"aipub.io/aipub/quota"
)

// FenceName is the ConfigMap in which a leader writes what it is about to open.
const FenceName = "aipub-gates"

// fenceKey is the entry of the ConfigMap that holds the record.
const fenceKey = "record"

// errDeposed says that another leader has taken over. The process must not write
// any more.
var errDeposed = errors.New("another leader has taken over")

// intent is an opening that is about to be sent.
type intent struct {
	UID       string      `json:"uid"`
	Namespace string      `json:"namespace"`
	Name      string      `json:"name"`
	Node      string      `json:"node,omitempty"`
	Grade     quota.Grade `json:"grade"`
	At        time.Time   `json:"at"`
}

// record is what stands in the ConfigMap.
type record struct {
	// Epoch grows by one with each leader, Sequence with each write of one.
	Epoch    int64  `json:"epoch"`
	Sequence int64  `json:"sequence"`
	Holder   string `json:"holder"`
	// Batch are the openings that may be on their way.
	Batch []intent  `json:"batch,omitempty"`
	At    time.Time `json:"at"` // for people; nothing is decided by it
}

// ofOne reports whether two records are the same leader's.
func (r record) ofOne(other record) bool {
	return r.Epoch == other.Epoch && r.Holder == other.Holder
}

// fence is a leader's hold on the ConfigMap. It is used by one goroutine.
type fence struct {
	client client.Client // reads from the API server
	name   client.ObjectKey
	holder string
	now    func() time.Time
	object *corev1.ConfigMap // as last written or read
	record record
	// attempts numbers the writes, failed ones included, so that each is told from
	// every other.
	attempts int64
}

// takeOver makes this leader the holder, from which moment no earlier one can write
// an intent. It returns the openings that an earlier one may have sent.
func (f *fence) takeOver(ctx context.Context) ([]intent, error) {
	object, was, err := f.read(ctx)
	if err != nil {
		return nil, err
	}
	next := record{Epoch: was.Epoch + 1, Holder: f.holder, Batch: was.Batch, At: f.now()}
	if err := f.put(ctx, object, next); err != nil {
		return nil, fmt.Errorf("take over %s: %w", f.name, err)
	}
	return was.Batch, nil
}

// write says what is about to be opened, in place of what it said before. When it
// returns errDeposed, or any other error, nothing may be sent.
func (f *fence) write(ctx context.Context, batch []intent) error {
	f.attempts++
	next := f.record
	next.Sequence, next.Batch, next.At = f.attempts, batch, f.now()
	err := f.put(ctx, f.object, next)
	if err == nil {
		return nil
	}
	// Somebody else wrote, or the answer was lost: the object itself tells.
	object, found, readErr := f.read(ctx)
	switch {
	case readErr != nil:
		return errors.Join(fmt.Errorf("write intent: %w", err), readErr)
	case found.ofOne(next) && found.Sequence == next.Sequence:
		f.object, f.record = object, next
		return nil
	case !found.ofOne(next):
		return fmt.Errorf("write intent: epoch %d is %s's: %w", found.Epoch, found.Holder, errDeposed)
	}
	f.object, f.record = object, found
	return fmt.Errorf("write intent: %w", err)
}

// check returns errDeposed where another leader has taken over.
func (f *fence) check(ctx context.Context) error {
	_, found, err := f.read(ctx)
	if err == nil && !found.ofOne(f.record) {
		return fmt.Errorf("check fence: epoch %d is %s's: %w", found.Epoch, found.Holder, errDeposed)
	}
	return err
}

func (f *fence) read(ctx context.Context) (*corev1.ConfigMap, record, error) {
	object, was := &corev1.ConfigMap{}, record{}
	err := f.client.Get(ctx, f.name, object)
	if apierrors.IsNotFound(err) {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: f.name.Namespace, Name: f.name.Name}}, was, nil
	}
	if err != nil {
		return nil, was, fmt.Errorf("read %s: %w", f.name, err)
	}
	if text := object.Data[fenceKey]; text != "" {
		if err := json.Unmarshal([]byte(text), &was); err != nil {
			return nil, was, fmt.Errorf("read %s: field data.%s is no record of ours: %w; delete the ConfigMap once no other controller runs", f.name, fenceKey, err)
		}
	}
	return object, was, nil
}

// put writes a record if the object is still as it was read.
func (f *fence) put(ctx context.Context, object *corev1.ConfigMap, r record) error {
	raw, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("encode record: %w", err)
	}
	object = object.DeepCopy()
	object.Data = map[string]string{fenceKey: string(raw)}
	if object.ResourceVersion == "" {
		err = f.client.Create(ctx, object)
	} else {
		err = f.client.Update(ctx, object)
	}
	if err != nil {
		return err
	}
	f.object, f.record = object, r
	return nil
}
