// SPDX-License-Identifier: Apache-2.0

// Package render turns the cluster's settings into its programs' configuration.
package render

import (
	"bytes"
	"embed"
	"encoding/base64"
	"fmt"
	"text/template"

	"aipub.io/aipub/test/cluster/internal/layout"
	"aipub.io/aipub/test/cluster/internal/pki"
	"aipub.io/aipub/test/cluster/internal/simulate"
)

//go:embed templates
var files embed.FS

// The cluster's network. All addresses are local to the machine: the node's is
// the bridge's own, pods hang on the bridge, and nothing is routed further.
const (
	Bridge      = "aipub0"
	NodeIP      = "10.86.0.1"
	PodCIDR     = "10.86.0.0/24"
	ServiceCIDR = "10.96.0.0/16"
	APIService  = "10.96.0.1" // the first address, of the Service `kubernetes`
	APIPort     = "6443"
)

// Server is the API server's address, from the machine and from pods alike.
const Server = "https://" + NodeIP + ":" + APIPort

// Input is all that the configuration files are made of.
type Input struct {
	Layout         layout.Layout
	Node           string
	TopologyPolicy string
	PauseImage     string
	Containerd     string // folder of containerd's programs
	Runc           string // file
	CNI            string // folder of the plugins
	Mounts         []simulate.Mount
	PodsGroup      string // cgroup of all pods
}

// PKI is for the templates.
func (in Input) PKI(name string) string { return in.Layout.PKI(name) }

// NodeIP and the like are for the templates.
func (in Input) NodeIP() string      { return NodeIP }
func (in Input) PodCIDR() string     { return PodCIDR }
func (in Input) ServiceCIDR() string { return ServiceCIDR }
func (in Input) Bridge() string      { return Bridge }

// Configs returns every configuration file's content by its path below the
// configuration folder.
func Configs(in Input) (map[string][]byte, error) {
	configs := map[string][]byte{"resolv.conf": []byte("nameserver 127.0.0.1\n")}
	for name, path := range map[string]string{
		"kubelet.yaml": "kubelet.yaml", "kube-proxy.yaml": "kube-proxy.yaml",
		"containerd.toml": "containerd.toml", "cni.conflist": "cni/10-aipub.conflist", "kubelet.sh": "kubelet.sh",
	} {
		out, err := fill(name, in)
		if err != nil {
			return nil, err
		}
		configs[path] = out
	}
	return configs, nil
}

// Kubeconfig makes the file with which user calls the API server.
func Kubeconfig(user string, ca []byte, pair pki.Pair) ([]byte, error) {
	encode := base64.StdEncoding.EncodeToString
	return fill("kubeconfig", map[string]string{
		"Server": Server, "User": user, "CA": encode(ca), "Cert": encode(pair.Cert), "Key": encode(pair.Key),
	})
}

func fill(name string, data any) ([]byte, error) {
	t, err := template.New(name).Option("missingkey=error").ParseFS(files, "templates/"+name)
	if err != nil {
		return nil, fmt.Errorf("parse template %s: %w", name, err)
	}
	var out bytes.Buffer
	if err := t.Execute(&out, data); err != nil {
		return nil, fmt.Errorf("fill template %s: %w", name, err)
	}
	return out.Bytes(), nil
}
