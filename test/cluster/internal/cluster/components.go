// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"aipub.io/aipub/test/cluster/internal/debian"
	"aipub.io/aipub/test/cluster/internal/layout"
	"aipub.io/aipub/test/cluster/internal/proc"
	"aipub.io/aipub/test/cluster/internal/render"
)

// The programs of a cluster, by the names under which they are recorded.
const (
	etcd              = "etcd"
	apiserver         = "kube-apiserver"
	controllerManager = "kube-controller-manager"
	scheduler         = "kube-scheduler"
	containerd        = "containerd"
	kubelet           = "kubelet"
	kubeProxy         = "kube-proxy"
)

var startOrder = []string{etcd, apiserver, controllerManager, scheduler, containerd, kubelet, kubeProxy}

const grace = 10 * time.Second

// Component finds a component's full name: "apiserver" means kube-apiserver.
func Component(name string) (string, error) {
	for _, full := range startOrder {
		if name == full || "kube-"+name == full {
			return full, nil
		}
	}
	return "", fmt.Errorf("component %q is unknown, there are %s", name, strings.Join(startOrder, ", "))
}

// spec says how to run a component.
func (c Cluster) spec(name string, programs Programs, settings Settings) proc.Spec {
	kube := func(name string) string { return filepath.Join(programs.Kubernetes, name) }
	spec := proc.Spec{Name: name, Log: c.Layout.Log(name)}
	switch name {
	case etcd:
		spec.Args = append([]string{debian.Etcd}, c.etcdFlags()...)
	case containerd:
		spec.Args = []string{filepath.Join(programs.Containerd, "containerd"), "--config", c.Layout.Config("containerd.toml")}
	case apiserver:
		spec.Args = append([]string{kube(name)}, c.apiserverFlags()...)
	case controllerManager:
		spec.Args = append([]string{kube(name)}, c.controllerManagerFlags()...)
	case scheduler:
		spec.Args = append([]string{kube(name)}, c.schedulerFlags()...)
	case kubelet:
		wrapper := []string{"unshare", "--mount", "--propagation", "unchanged", "/bin/sh", c.Layout.Config("kubelet.sh"), kube(name)}
		spec.Args = append(wrapper, c.kubeletFlags(settings)...)
	case kubeProxy:
		spec.Args = []string{kube(name), "--config=" + c.Layout.Config("kube-proxy.yaml"), "--v=2"}
	}
	return spec
}

// etcd's own default ports are left to others on this machine.
const (
	etcdClient = "http://127.0.0.1:23790"
	etcdPeer   = "http://127.0.0.1:23800"
)

func (c Cluster) etcdFlags() []string {
	return []string{
		"--data-dir=" + c.Layout.Etcd(),
		"--listen-client-urls=" + etcdClient, "--advertise-client-urls=" + etcdClient,
		"--listen-peer-urls=" + etcdPeer, "--initial-advertise-peer-urls=" + etcdPeer,
		"--initial-cluster=default=" + etcdPeer,
	}
}

func (c Cluster) apiserverFlags() []string {
	pki := c.Layout.PKI
	return []string{
		"--etcd-servers=" + etcdClient,
		"--bind-address=" + render.NodeIP, "--advertise-address=" + render.NodeIP, "--secure-port=" + render.APIPort,
		"--service-cluster-ip-range=" + render.ServiceCIDR,
		"--tls-cert-file=" + pki("apiserver.crt"), "--tls-private-key-file=" + pki("apiserver.key"),
		"--client-ca-file=" + pki("ca.crt"),
		"--authorization-mode=Node,RBAC", "--enable-admission-plugins=NodeRestriction", "--allow-privileged=true",
		"--kubelet-client-certificate=" + pki("apiserver-kubelet.crt"), "--kubelet-client-key=" + pki("apiserver-kubelet.key"),
		"--kubelet-certificate-authority=" + pki("ca.crt"), "--kubelet-preferred-address-types=InternalIP",
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + pki("sa.crt"), "--service-account-signing-key-file=" + pki("sa.key"),
		"--requestheader-client-ca-file=" + pki("front-proxy-ca.crt"), "--requestheader-allowed-names=front-proxy-client",
		"--requestheader-username-headers=X-Remote-User", "--requestheader-group-headers=X-Remote-Group",
		"--requestheader-extra-headers-prefix=X-Remote-Extra-",
		"--proxy-client-cert-file=" + pki("front-proxy-client.crt"), "--proxy-client-key-file=" + pki("front-proxy-client.key"),
		"--enable-aggregator-routing=true", // webhooks and APIs behind Services are called at the pods' own addresses
	}
}

func (c Cluster) controllerManagerFlags() []string {
	config := c.Layout.Config("kube-controller-manager.kubeconfig")
	pki := c.Layout.PKI
	return append(ownKubeconfig(config),
		"--root-ca-file="+pki("ca.crt"), "--service-account-private-key-file="+pki("sa.key"),
		"--cluster-signing-cert-file="+pki("ca.crt"), "--cluster-signing-key-file="+pki("ca.key"),
		"--use-service-account-credentials=true",
		"--flex-volume-plugin-dir="+c.Layout.FlexVolumes(),
		"--requestheader-client-ca-file="+pki("front-proxy-ca.crt"),
	)
}

func (c Cluster) schedulerFlags() []string {
	return ownKubeconfig(c.Layout.Config("kube-scheduler.kubeconfig"))
}

func ownKubeconfig(config string) []string {
	return []string{
		"--kubeconfig=" + config, "--authentication-kubeconfig=" + config, "--authorization-kubeconfig=" + config,
		"--bind-address=127.0.0.1", "--leader-elect=false", "--v=2",
	}
}

func (c Cluster) kubeletFlags(settings Settings) []string {
	return []string{
		"--config=" + c.Layout.Config("kubelet.yaml"), "--kubeconfig=" + c.Layout.Config("kubelet.kubeconfig"),
		"--root-dir=" + layout.KubeletDir, "--hostname-override=" + settings.Node, "--node-ip=" + render.NodeIP,
		"--node-labels=" + settings.nodeLabels(), "--v=2",
	}
}
