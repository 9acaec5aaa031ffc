// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"aipub.io/aipub/test/cluster/internal/layout"
	"aipub.io/aipub/test/cluster/internal/proc"
	"aipub.io/aipub/test/cluster/internal/sweep"
)

// Down stops the cluster and removes all it made but the logs. It takes each
// step whatever became of the others, so a half-dead cluster goes down too.
// Where there is no cluster it touches nothing: the pods on this machine may be
// those of another kubelet.
func (c Cluster) Down() error {
	held, err := c.lock()
	if err != nil {
		return err
	}
	defer held.Release()
	there, err := c.claimed()
	if err != nil || !there {
		return err
	}
	step := c.Report.Step("stopping cluster", "about 5 s")
	return step.End(c.takeDown())
}

func (c Cluster) takeDown() error {
	errs := []error{c.haltNode()}
	for _, name := range []string{scheduler, controllerManager, apiserver, etcd} {
		errs = append(errs, c.processes().Stop(name, grace))
	}
	errs = append(errs,
		c.network().Down(),
		sweep.Unmount(c.Layout.Work, c.Layout.Run, layout.KubeletDir),
		sweep.Links("/var/log/containers", c.Layout.PodLogs()),
		sweep.Empty(c.Layout.Run),
	)
	if errors.Join(errs...) == nil { // else what is left shows what went wrong
		errs = append(errs, sweep.Empty(c.Layout.Work, "logs"), removeDirs(c.Layout.Run, layout.KubeletDir, "/var/log/containers"))
	}
	return errors.Join(errs...)
}

// haltNode ends all that runs on the node as a loss of power would, and
// nothing of the control plane: kubelet, pods, shims and containerd.
func (c Cluster) haltNode() error {
	errs := []error{
		c.processes().Stop(kubelet, grace), // first, or it would start pods again
		c.processes().Stop(kubeProxy, grace),
		sweep.KillGroup(sweep.Pods),
		c.killShims(),
		c.processes().Stop(containerd, grace),
		sweep.Unmount(c.Layout.Kubelet(), c.Layout.Run, c.Layout.Containerd()),
		c.unmountVolumes(),
		sweep.RemoveGroup(sweep.Pods),
	}
	return errors.Join(errs...)
}

// killShims kills the shims that serve this cluster's containerd, which is
// among their arguments.
func (c Cluster) killShims() error {
	shims, err := proc.Find("containerd-shim-runc-v2", c.Layout.ContainerdSocket())
	if err != nil {
		return err
	}
	var errs []error
	for _, shim := range shims {
		errs = append(errs, proc.Stop(shim, 0))
	}
	return errors.Join(errs...)
}

// unmountVolumes unmounts the pods' volumes.
func (c Cluster) unmountVolumes() error {
	return sweep.Unmount(filepath.Join(layout.KubeletDir, "pods"), filepath.Join(layout.KubeletDir, "plugins"))
}

// removeDirs removes those of the folders that are empty.
func removeDirs(dirs ...string) error {
	for _, dir := range dirs {
		entries, err := os.ReadDir(dir)
		if err != nil || len(entries) > 0 {
			continue
		}
		if err := os.Remove(dir); err != nil {
			return fmt.Errorf("remove folder: %w", err)
		}
	}
	return nil
}
