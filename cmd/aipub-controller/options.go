// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strconv"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/quota/admission"
)

// connection says how to reach the API server.
type connection struct {
	kubeconfig string
}

func (c *connection) bind(flags *pflag.FlagSet) {
	flags.StringVar(&c.kubeconfig, "kubeconfig", "", "path of a kubeconfig; empty uses $KUBECONFIG, else the pod's service account")
}

// restConfig reads the connection from flag, environment or pod, in this order.
func (c connection) restConfig() (*rest.Config, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = c.kubeconfig
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("load kubeconfig: %w", err)
	}
	return config, nil
}

// options are the flags of the controller.
type options struct {
	connection
	metricsAddress string
	healthAddress  string
	webhookPort    int
	namespace      string
	webhookService string
	certSecret     string
	// trustedControllers replaces the built-in list when it is not empty.
	trustedControllers []string
	stampedKinds       []string
	leaderElect        bool
	logLevel           string
}

func defaultOptions() *options {
	return &options{
		metricsAddress: ":8080",
		healthAddress:  ":8081",
		webhookPort:    9443,
		namespace:      v1alpha1.SystemNamespace,
		webhookService: "aipub-webhook",
		certSecret:     "aipub-webhook-cert",
		leaderElect:    true,
		logLevel:       "info",
	}
}

func (o *options) bind(flags *pflag.FlagSet) {
	flags.StringVar(&o.metricsAddress, "metrics-address", o.metricsAddress, "where /metrics is served; 0 turns it off")
	flags.StringVar(&o.healthAddress, "health-address", o.healthAddress, "where /healthz and /readyz are served; 0 turns them off")
	flags.IntVar(&o.webhookPort, "webhook-port", o.webhookPort, "port of the webhooks, 1 to 65535")
	flags.StringVar(&o.namespace, "namespace", o.namespace, "namespace of the controller's Service, Secret and Lease")
	flags.StringVar(&o.webhookService, "webhook-service", o.webhookService, "name of the Service before the webhooks; the certificate is made out to it")
	flags.StringVar(&o.certSecret, "cert-secret", o.certSecret, "name of the Secret that keeps the webhooks' certificate")
	flags.StringArrayVar(&o.trustedControllers, "trusted-controller", nil, "user name of a controller that makes pods for the owner of what it acts on; may be repeated; none: those of Kubernetes and this one")
	flags.StringArrayVar(&o.stampedKinds, "stamped-kind", nil, "KIND.GROUP=TYPE of workloads of other kinds that are charged to their author, for example Notebook.kubeflow.org=Workspace; may be repeated")
	flags.BoolVar(&o.leaderElect, "leader-elect", o.leaderElect, "write only while elected among the replicas")
	flags.StringVar(&o.logLevel, "log-level", o.logLevel, "debug, info, warn or error")
}

// validate names every flag that cannot be meant.
func (o *options) validate() error {
	var errs []error
	refuse := func(flag, value, allowed string) {
		errs = append(errs, fmt.Errorf("flag --%s: %q: %s", flag, value, allowed))
	}
	for flag, value := range map[string]string{"metrics-address": o.metricsAddress, "health-address": o.healthAddress} {
		if _, _, err := net.SplitHostPort(value); err != nil && value != "0" {
			refuse(flag, value, "give HOST:PORT or :PORT, or 0 to turn it off")
		}
	}
	if o.webhookPort < 1 || o.webhookPort > 65535 {
		refuse("webhook-port", strconv.Itoa(o.webhookPort), "give a port from 1 to 65535")
	}
	for flag, value := range map[string]string{"namespace": o.namespace, "webhook-service": o.webhookService} {
		if len(validation.IsDNS1123Label(value)) > 0 {
			refuse(flag, value, "give a DNS label: lower-case letters, digits and '-', at most 63 characters")
		}
	}
	if len(validation.IsDNS1123Subdomain(o.certSecret)) > 0 {
		refuse("cert-secret", o.certSecret, "give the name of a Secret")
	}
	if _, err := admission.ParseKinds(o.stampedKinds); err != nil {
		errs = append(errs, fmt.Errorf("flag --stamped-kind: %w", err))
	}
	if _, err := o.level(); err != nil {
		refuse("log-level", o.logLevel, "give debug, info, warn or error")
	}
	return errors.Join(errs...)
}

// trusted are the user names of trusted controllers.
func (o *options) trusted() []string {
	if len(o.trustedControllers) > 0 {
		return o.trustedControllers
	}
	return admission.DefaultTrusted(o.namespace)
}

func (o *options) level() (slog.Level, error) {
	var level slog.Level
	err := level.UnmarshalText([]byte(o.logLevel))
	return level, err
}

// serverNames are the DNS names under which the API server calls the webhooks.
func (o *options) serverNames() []string {
	name := o.webhookService + "." + o.namespace + ".svc"
	return []string{name, name + ".cluster.local"}
}
