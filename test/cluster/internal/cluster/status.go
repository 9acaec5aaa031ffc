// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"text/tabwriter"
)

// ErrNotUp says that something of the cluster does not run.
var ErrNotUp = errors.New("cluster is not up")

// Status prints what runs. It returns ErrNotUp unless all does and the node is ready.
func (c Cluster) Status(ctx context.Context) error {
	settings, err := loadSettings(c.Layout.Settings())
	if err != nil {
		return err
	}
	if settings == nil {
		fmt.Fprintln(c.Out, "no cluster in", c.Layout.Work)
		return ErrNotUp
	}
	table := tabwriter.NewWriter(c.Out, 0, 0, 2, ' ', 0)
	up := true
	for _, name := range startOrder {
		state := "stopped"
		if id, err := c.processes().Running(name); err == nil {
			state = fmt.Sprintf("pid %d", id.PID)
		} else {
			up = false
		}
		fmt.Fprintf(table, "%s\t%s\t%s\n", name, state, c.Layout.Log(name))
	}
	node, ready := c.nodeState(ctx, settings.Node)
	if err := table.Flush(); err != nil {
		return fmt.Errorf("print status: %w", err)
	}
	fmt.Fprintf(c.Out, "node %s (%s) is %s\n", settings.Node, settings.Machine, node)
	fmt.Fprintln(c.Out, "kubeconfig", c.Layout.Kubeconfig())
	if !up || !ready {
		return ErrNotUp
	}
	return nil
}

func (c Cluster) nodeState(ctx context.Context, name string) (state string, ready bool) {
	client, err := c.client()
	if err != nil {
		return "unknown: " + err.Error(), false
	}
	node, err := client.Node(ctx, name)
	if err != nil {
		return "unknown: " + err.Error(), false
	}
	if ready, why := node.Ready(); !ready {
		return "not ready: " + why, false
	}
	return "ready, " + node.Status.NodeInfo.KubeletVersion, true
}
