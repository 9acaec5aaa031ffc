// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/quota/admission"
	"aipub.io/aipub/quota/admission/cert"
)

// How the leader is elected. Nothing opens a gate from the leader's death until
// another replica is elected, which takes up to leaseDuration and 2.2 times retryPeriod
// (the library's defaults, 15 s and 2 s, are for controllers that nobody waits for). A
// lease that is lost without need costs a restart and no more: what keeps two leaders
// from spending one quota twice is the fence in quota/kube, not the lease. renewDeadline
// outlasts a stall of a few seconds, such as an API server's restart behind others.
const (
	leaseDuration = 7 * time.Second
	renewDeadline = 5 * time.Second
	retryPeriod   = 500 * time.Millisecond
)

// runController validates, builds and runs until the context ends.
func runController(ctx context.Context, o *options, logs io.Writer) error {
	if err := o.validate(); err != nil {
		return err
	}
	config, err := o.restConfig()
	if err != nil {
		return err
	}
	log, err := newLogger(o, logs)
	if err != nil {
		return err
	}
	ctrl.SetLogger(log)
	klog.SetLogger(log)
	mgr, err := newManager(config, o, log)
	if err != nil {
		return err
	}
	log.Info("Starting", "version", version)
	if err := mgr.Start(logr.NewContext(ctx, log)); err != nil {
		return fmt.Errorf("run manager: %w", err)
	}
	return nil
}

// newLogger makes the one log of the process, as JSON.
func newLogger(o *options, logs io.Writer) (logr.Logger, error) {
	level, err := o.level()
	if err != nil {
		return logr.Logger{}, err
	}
	return logr.FromSlogHandler(slog.NewJSONHandler(logs, &slog.HandlerOptions{Level: level})), nil
}

func newScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(v1alpha1.AddToScheme(scheme))
	return scheme
}

// newManager wires the parts in the order of the flow.
func newManager(connection *rest.Config, o *options, log logr.Logger) (ctrl.Manager, error) {
	scheme := newScheme()
	direct, err := client.New(connection, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("make client: %w", err)
	}
	keeper := cert.NewKeeper(direct, types.NamespacedName{Namespace: o.namespace, Name: o.certSecret}, cert.Config{
		Terms:         cert.Terms{Names: o.serverNames()},
		Configuration: admission.ConfigurationName,
	})
	m := newMetrics(ctrlmetrics.Registry, keeper.Expiry)

	objects, err := cachedObjects()
	if err != nil {
		return nil, err
	}
	mgr, err := ctrl.NewManager(connection, ctrl.Options{
		Scheme:                        scheme,
		Logger:                        log,
		Cache:                         cache.Options{DefaultTransform: cache.TransformStripManagedFields(), ByObject: objects},
		Metrics:                       metricsserver.Options{BindAddress: o.metricsAddress},
		HealthProbeBindAddress:        o.healthAddress,
		LeaderElection:                o.leaderElect,
		LeaderElectionID:              leaseName,
		LeaderElectionNamespace:       o.namespace,
		LeaderElectionReleaseOnCancel: true,
		LeaseDuration:                 ptr.To(leaseDuration),
		RenewDeadline:                 ptr.To(renewDeadline),
		RetryPeriod:                   ptr.To(retryPeriod),
		// A process has one manager but in tests, which run several in turn.
		Controller: config.Controller{SkipNameValidation: ptr.To(true)},
		WebhookServer: webhook.NewServer(webhook.Options{Port: o.webhookPort, TLSOpts: []func(*tls.Config){
			func(c *tls.Config) { c.GetCertificate, c.MinVersion = keeper.GetCertificate, tls.VersionTLS12 },
		}}),
	})
	if err != nil {
		return nil, fmt.Errorf("make manager: %w", err)
	}
	if err := mgr.Add(keeper); err != nil {
		return nil, fmt.Errorf("add certificate keeper: %w", err)
	}
	if err := addStages(mgr, o, m); err != nil {
		return nil, err
	}
	return mgr, addChecks(mgr, keeper)
}

// addChecks makes a replica ready once it serves a certificate and its caches
// know the cluster. The caches are asked for here, so that they fill before
// the first request and not because of it.
func addChecks(mgr ctrl.Manager, keeper *cert.Keeper) error {
	for _, object := range []client.Object{
		&v1alpha1.ResourceSet{}, &v1alpha1.PartitionPolicy{}, &v1alpha1.NodePartition{}, &corev1.Node{},
	} {
		if _, err := mgr.GetCache().GetInformer(context.Background(), object); err != nil {
			return fmt.Errorf("watch %T: %w", object, err)
		}
	}
	synced := func(req *http.Request) error {
		ctx, cancel := context.WithTimeout(req.Context(), time.Second)
		defer cancel()
		if !mgr.GetCache().WaitForCacheSync(ctx) {
			return fmt.Errorf("sync caches: not all of the cluster's objects are known yet")
		}
		return nil
	}
	started := mgr.GetWebhookServer().StartedChecker()
	serving := func(req *http.Request) error {
		if err := keeper.Ready(req); err != nil {
			return err
		}
		return started(req)
	}
	for name, check := range map[string]healthz.Checker{"webhooks": serving, "caches": synced} {
		if err := mgr.AddReadyzCheck(name, check); err != nil {
			return fmt.Errorf("add readiness check %s: %w", name, err)
		}
	}
	if err := mgr.AddHealthzCheck("alive", healthz.Ping); err != nil {
		return fmt.Errorf("add health check: %w", err)
	}
	return nil
}
