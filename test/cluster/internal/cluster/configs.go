// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"time"

	"aipub.io/aipub/test/cluster/internal/debian"
	"aipub.io/aipub/test/cluster/internal/image"
	"aipub.io/aipub/test/cluster/internal/pki"
	"aipub.io/aipub/test/cluster/internal/render"
	"aipub.io/aipub/test/cluster/internal/replace"
	"aipub.io/aipub/test/cluster/internal/sweep"
)

// configure writes all configuration. Certificates are made once, the rest anew each time.
func (c Cluster) configure(programs Programs, settings Settings) error {
	if err := settings.Machine.Write(c.Layout.Machine()); err != nil {
		return err
	}
	if _, err := os.Stat(c.Layout.BootID()); errors.Is(err, os.ErrNotExist) {
		if err := c.newBootID(); err != nil {
			return err
		}
	}
	configs, err := render.Configs(render.Input{
		Layout: c.Layout, Node: settings.Node, TopologyPolicy: settings.TopologyPolicy,
		PauseImage: image.Pause, Containerd: programs.Containerd, Runc: debian.Runc, CNI: debian.CNI,
		Mounts: settings.Machine.Mounts(), PodsGroup: sweep.Pods,
	})
	if err != nil {
		return err
	}
	for name, content := range configs {
		if err := replace.File(c.Layout.Config(name), content, 0o644); err != nil {
			return err
		}
	}
	if _, err := os.Stat(c.Layout.Kubeconfig()); err == nil {
		return nil // written last, so all of them are there
	}
	return c.certify(settings.Node, time.Now())
}

// newBootID writes a random UUID where the kubelet reads its boot id. It
// writes in place: a running kubelet has the very file mounted.
func (c Cluster) newBootID() error {
	var b [16]byte
	rand.Read(b[:])
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80 // version 4, variant 1: as the kernel's are
	id := fmt.Sprintf("%x-%x-%x-%x-%x\n", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
	if err := os.WriteFile(c.Layout.BootID(), []byte(id), 0o644); err != nil {
		return fmt.Errorf("write boot id: %w", err)
	}
	return nil
}

// certify makes the authorities, every component's certificates, and the kubeconfigs.
func (c Cluster) certify(node string, now time.Time) error {
	ca, err := pki.NewAuthority("aipub-test-cluster", now)
	if err != nil {
		return err
	}
	front, err := pki.NewAuthority("aipub-test-front-proxy", now)
	if err != nil {
		return err
	}
	serviceAccounts, err := pki.KeyPair()
	if err != nil {
		return err
	}
	pairs := map[string]pki.Pair{"ca": ca.PEM, "front-proxy-ca": front.PEM, "sa": serviceAccounts}
	for name, subject := range subjects(node) {
		if pairs[name], err = ca.Issue(subject, now); err != nil {
			return err
		}
	}
	if pairs["front-proxy-client"], err = front.Issue(pki.Subject{Name: "front-proxy-client"}, now); err != nil {
		return err
	}
	for name, pair := range pairs {
		if err := c.writePair(name, pair); err != nil {
			return err
		}
	}
	for _, user := range []string{controllerManager, scheduler, kubelet, kubeProxy, "admin"} { // the administrator's last
		config, err := render.Kubeconfig(user, ca.PEM.Cert, pairs[user])
		if err != nil {
			return err
		}
		if err := replace.File(c.Layout.Config(user+".kubeconfig"), config, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// subjects names every holder of a certificate as Kubernetes' built-in roles expect.
func subjects(node string) map[string]pki.Subject {
	return map[string]pki.Subject{
		"admin":             {Name: "kubernetes-admin", Groups: []string{"system:masters"}},
		controllerManager:   {Name: "system:kube-controller-manager"},
		scheduler:           {Name: "system:kube-scheduler"},
		kubeProxy:           {Name: "system:kube-proxy"},
		kubelet:             {Name: "system:node:" + node, Groups: []string{"system:nodes"}},
		"kubelet-server":    {Name: node, Hosts: []string{node, render.NodeIP, "127.0.0.1"}},
		"apiserver-kubelet": {Name: "kube-apiserver", Groups: []string{"system:masters"}},
		"apiserver": {Name: "kube-apiserver", Hosts: []string{
			render.NodeIP, render.APIService, "127.0.0.1", "localhost",
			"kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local",
		}},
	}
}

func (c Cluster) writePair(name string, pair pki.Pair) error {
	if err := replace.File(c.Layout.PKI(name+".crt"), pair.Cert, 0o644); err != nil {
		return err
	}
	return replace.File(c.Layout.PKI(name+".key"), pair.Key, 0o600)
}
