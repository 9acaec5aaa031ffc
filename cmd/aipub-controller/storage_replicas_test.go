// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/quota/admission"
	"aipub.io/aipub/quota/admission/claims"
	quotakube "aipub.io/aipub/quota/kube"
	"aipub.io/aipub/quota/storage"
)

// replicas are several controllers' storage stages on one kube-apiserver, each with
// caches and a connection of its own. The API server asks one of them by chance.
// Nothing else of AIPub runs: the tests write the stamps themselves.
type replicas struct {
	client.Client
	config *rest.Config
	mu     sync.Mutex
	all    []*replica
	// only, where it is not nil, answers everything.
	only  atomic.Pointer[replica]
	asked atomic.Uint64
	clock *clocktesting.FakeClock
}

// replica is one of them.
type replica struct {
	watch  *quotakube.StorageWatch
	record *quotakube.StorageRecord
	client client.Client
	leader *quotakube.StorageLeader
	hook   http.Handler
	wire   *storageWire
	stop   context.CancelFunc
}

// storageWire stands between a replica and the API server.
type storageWire struct {
	next http.RoundTripper
	// after is called with each write of the record after it has arrived, before its
	// answer does; an error takes the answer's place.
	after atomic.Pointer[func() error]
	// deaf holds up what watches of claims say, until it is closed.
	deaf atomic.Pointer[chan struct{}]
	// lists counts the lists of claims.
	lists atomic.Int64
}

func (w *storageWire) RoundTrip(r *http.Request) (*http.Response, error) {
	claims := strings.HasSuffix(r.URL.Path, "/persistentvolumeclaims")
	watching := r.URL.Query().Get("watch") == "true" || r.URL.Query().Get("watch") == "1"
	if claims && !watching {
		w.lists.Add(1)
	}
	response, err := w.next.RoundTrip(r)
	if err != nil {
		return response, err
	}
	if claims && watching {
		response.Body = &deafBody{ReadCloser: response.Body, wire: w, done: r.Context().Done()}
	}
	if after := w.after.Load(); after != nil && r.Method != http.MethodGet && strings.Contains(r.URL.Path, "/configmaps") {
		if err := (*after)(); err != nil {
			_ = response.Body.Close()
			return nil, err
		}
	}
	return response, nil
}

// deafBody is a watch that can be held up.
type deafBody struct {
	io.ReadCloser
	wire *storageWire
	done <-chan struct{}
}

func (b *deafBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if deaf := b.wire.deaf.Load(); deaf != nil {
		select {
		case <-*deaf:
		case <-b.done:
			return 0, errors.New("the watch ended")
		}
	}
	return n, err
}

func startReplicas(t *testing.T, count int) *replicas {
	t.Helper()
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		t.Fatal("KUBEBUILDER_ASSETS is not set: `make unit` sets it")
	}
	ctrl.SetLogger(logr.Discard())
	env := &envtest.Environment{
		CRDDirectoryPaths: []string{"../../charts/aipub/files/crds"}, ErrorIfCRDPathMissing: true,
		WebhookInstallOptions: envtest.WebhookInstallOptions{ValidatingWebhooks: []*admissionregistrationv1.ValidatingWebhookConfiguration{claimWebhook(t)}},
	}
	env.ControlPlane.GetAPIServer().Configure().Append("max-requests-inflight", "0").Append("max-mutating-requests-inflight", "0").
		Set("enable-priority-and-fairness", "false")
	config, err := env.Start()
	if err != nil {
		t.Fatalf("start kube-apiserver: %v", err)
	}
	t.Cleanup(func() {
		if err := env.Stop(); err != nil {
			t.Errorf("stop kube-apiserver: %v", err)
		}
	})
	config.QPS = -1
	r := &replicas{config: config, clock: clocktesting.NewFakeClock(time.Now())}
	if r.Client, err = client.New(config, client.Options{Scheme: newScheme()}); err != nil {
		t.Fatal(err)
	}
	r.mustCreate(t, namespace(v1alpha1.SystemNamespace, nil))
	for range count {
		r.add(t)
	}
	r.serve(t, &env.WebhookInstallOptions)
	return r
}

// claimWebhook is the chart's webhook for volume claims.
func claimWebhook(t *testing.T) *admissionregistrationv1.ValidatingWebhookConfiguration {
	t.Helper()
	for _, object := range chartObjects(t, defaultOptions()) {
		u, ok := object.(*unstructured.Unstructured)
		if !ok || u.GetKind() != "ValidatingWebhookConfiguration" {
			continue
		}
		var c admissionregistrationv1.ValidatingWebhookConfiguration
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &c); err != nil {
			t.Fatal(err)
		}
		for _, hook := range c.Webhooks {
			if *hook.ClientConfig.Service.Path == admission.PathValidateClaims {
				c.Webhooks = []admissionregistrationv1.ValidatingWebhook{hook}
				return &c
			}
		}
	}
	t.Fatal("the chart has no webhook for volume claims")
	return nil
}

// serve answers the API server's reviews by one of the replicas.
func (r *replicas) serve(t *testing.T, o *envtest.WebhookInstallOptions) {
	t.Helper()
	listener, err := net.Listen("tcp", net.JoinHostPort(o.LocalServingHost, strconv.Itoa(o.LocalServingPort)))
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		one := r.only.Load()
		if one == nil {
			r.mu.Lock()
			one = r.all[r.asked.Add(1)%uint64(len(r.all))]
			r.mu.Unlock()
		}
		one.hook.ServeHTTP(w, req)
	})}
	go func() {
		_ = server.ServeTLS(listener, filepath.Join(o.LocalServingCertDir, "tls.crt"), filepath.Join(o.LocalServingCertDir, "tls.key"))
	}()
	t.Cleanup(func() { _ = server.Close() })
}

// add starts one more replica and waits until it knows the cluster.
func (r *replicas) add(t *testing.T) *replica {
	t.Helper()
	one := &replica{wire: &storageWire{}}
	config := rest.CopyConfig(r.config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		// One wire for all clients of the replica; they share a transport.
		if one.wire.next == nil {
			one.wire.next = next
		}
		return one.wire
	})
	scheme := newScheme()
	c, err := cache.New(config, cache.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	if one.watch, err = quotakube.NewStorageWatch(config, c, scheme, v1alpha1.SystemNamespace); err != nil {
		t.Fatal(err)
	}
	if one.client, err = client.New(config, client.Options{Scheme: scheme}); err != nil {
		t.Fatal(err)
	}
	one.record = quotakube.NewStorageRecord(one.client, v1alpha1.SystemNamespace)
	one.leader = quotakube.NewStorageLeader(one.watch, one.record, one.client, r.clock)
	one.hook = admission.ClaimValidator(one.client, claims.NewLedger(one.watch, one.record, r.clock.Now), admission.Config{})
	ctx, cancel := context.WithCancel(t.Context())
	one.stop = cancel
	t.Cleanup(cancel)
	go func() { _ = c.Start(ctx) }()
	go func() { _ = one.watch.Start(ctx) }()
	eventually(t, "a replica to know the cluster", func() error {
		if !one.watch.Synced() {
			return errors.New("not synced")
		}
		return nil
	})
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, one)
	return one
}

func (r *replicas) mustCreate(t *testing.T, object client.Object) {
	t.Helper()
	if err := r.Create(t.Context(), object); err != nil {
		t.Fatalf("create %T %s: %v", object, object.GetName(), err)
	}
}

// limit makes a quota and waits until every replica knows it.
func (r *replicas) limit(t *testing.T, q *v1alpha1.StorageQuota, owner storage.Owner) {
	t.Helper()
	r.mustCreate(t, q)
	for _, one := range r.all {
		eventually(t, "a replica to know quota "+q.Name, func() error {
			known := false
			one.watch.Use(func(b *storage.Book) { known = b.Has(q.Name) && b.Binds(owner) })
			if !known {
				return errors.New("not known")
			}
			return nil
		})
	}
}

// volumeOf is a claim as admission stamps it.
func volumeOf(project, user, ns, name string, size int64) *corev1.PersistentVolumeClaim {
	pvc := note(volume(ns, name, "", size), v1alpha1.UserAnnotation, user)
	return note(pvc, v1alpha1.ProjectAnnotation, project)
}

// insist repeats a request as clients do while nobody could answer it, for at most a
// minute. A repeated creation may find that an earlier one has succeeded.
func insist(request func() error) error {
	for end := time.Now().Add(time.Minute); ; {
		err := request()
		if !apierrors.IsServiceUnavailable(err) && !apierrors.IsInternalError(err) && !apierrors.IsTimeout(err) || time.Now().After(end) {
			return err
		}
	}
}

// heldBy sums what exists, from the API server.
func (r *replicas) heldBy(ctx context.Context, counts func(storage.Claim) bool) (int64, error) {
	var all corev1.PersistentVolumeClaimList
	if err := r.List(ctx, &all); err != nil {
		return 0, err
	}
	sum := int64(0)
	for i := range all.Items {
		if c := storage.ClaimOf(&all.Items[i]); counts(c) {
			sum += c.Bytes
		}
	}
	return sum, nil
}

func ofProject(project string) func(storage.Claim) bool {
	return func(c storage.Claim) bool { return c.Owner.Project == project }
}

// round has a replica lead for a moment.
func (one *replica) round(t *testing.T) {
	t.Helper()
	if err := one.leader.Round(t.Context()); err != nil {
		t.Fatalf("round of the leader: %v", err)
	}
}

// left is how many reservations there are.
func (r *replicas) left(t *testing.T) storage.Record {
	t.Helper()
	record, _, err := quotakube.NewStorageRecord(r.Client, v1alpha1.SystemNamespace).Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return record
}

// requireNothingLeaks lets the times pass after which no reservation may be left, and
// checks that what is charged is what exists.
func (r *replicas) requireNothingLeaks(t *testing.T, leader *replica, quota, project string) {
	t.Helper()
	for range 3 {
		leader.round(t)
		r.clock.Step(storage.Expire)
	}
	leader.round(t)
	if record := r.left(t); len(record.Reservations) > 0 {
		t.Errorf("%d reservations are left, the first: %+v", len(record.Reservations), record.Reservations[0])
	}
	exists, err := r.heldBy(t.Context(), ofProject(project))
	if err != nil {
		t.Fatal(err)
	}
	for i, one := range r.all {
		eventually(t, fmt.Sprintf("replica %d to count what exists", i), func() error {
			var status v1alpha1.StorageQuotaStatus
			one.watch.Use(func(b *storage.Book) {
				b.SetReservations(r.left(t).Reservations)
				status = b.Status(quota)
			})
			used := int64(0)
			if status.Used.Total != nil {
				used = status.Used.Total.Value()
			}
			if used != exists || status.Reserved.Total != nil {
				return fmt.Errorf("used %d, reserved %v; %d exist", used, status.Reserved.Total, exists)
			}
			return nil
		})
	}
}
