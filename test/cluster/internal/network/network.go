// SPDX-License-Identifier: Apache-2.0

// Package network makes and removes the bridge that is the cluster's whole network.
package network

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
)

// Network is a bridge with the node's address. Pods are plugged into it.
type Network struct {
	Bridge      string
	NodeIP      string
	PodCIDR     string
	ServiceCIDR string
	Record      string // file for the kernel settings' former values
}

// Up makes what is missing of the bridge, its address and its routes.
func (n Network) Up() error {
	if err := setSysctls(n.Record); err != nil {
		return err
	}
	if _, err := net.InterfaceByName(n.Bridge); err != nil {
		if err := run("ip", "link", "add", n.Bridge, "type", "bridge"); err != nil {
			return err
		}
	}
	_, bits, _ := strings.Cut(n.PodCIDR, "/")
	if err := run("ip", "address", "replace", n.NodeIP+"/"+bits, "dev", n.Bridge); err != nil {
		return err
	}
	if err := run("ip", "link", "set", n.Bridge, "up"); err != nil {
		return err
	}
	// A Service address that no rule translates stays on this machine instead of leaving by the default route.
	return run("ip", "route", "replace", n.ServiceCIDR, "dev", "lo", "src", n.NodeIP)
}

// Down removes the bridge, its routes and kube-proxy's rules, and puts the
// kernel settings back. What is already gone is no error.
func (n Network) Down() error {
	var errs []error
	if _, err := net.InterfaceByName(n.Bridge); err == nil {
		errs = append(errs, run("ip", "link", "delete", n.Bridge))
	}
	if out, err := exec.Command("ip", "route", "show", n.ServiceCIDR).Output(); err == nil && len(out) > 0 {
		errs = append(errs, run("ip", "route", "delete", n.ServiceCIDR))
	}
	errs = append(errs, deleteTables())
	if err := restoreSysctls(n.Record); err != nil {
		errs = append(errs, err)
	} else if err := os.Remove(n.Record); err != nil && !errors.Is(err, os.ErrNotExist) {
		errs = append(errs, fmt.Errorf("forget kernel settings: %w", err))
	}
	return errors.Join(errs...)
}

// deleteTables removes kube-proxy's tables, which hold all of its rules.
func deleteTables() error {
	var errs []error
	for _, family := range []string{"ip", "ip6"} {
		if exec.Command("nft", "list", "table", family, "kube-proxy").Run() == nil {
			errs = append(errs, run("nft", "delete", "table", family, "kube-proxy"))
		}
	}
	return errors.Join(errs...)
}

func run(name string, args ...string) error {
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("run %s %s: %w: %s", name, strings.Join(args, " "), err, strings.TrimSpace(string(out)))
	}
	return nil
}
