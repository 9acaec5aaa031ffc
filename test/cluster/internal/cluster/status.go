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
	fmt.Fprintf(table, "node %s\t%s\t%s\n", settings.Node, node, settings.Machine)
	fmt.Fprintf(table, "kubeconfig\t\t%s\n", c.Layout.Kubeconfig())
	if err := table.Flush(); err != nil {
		return fmt.Errorf("print status: %w", err)
	}
	if !up || !ready {
		return ErrNotUp
	}
	return nil
}

func (c Cluster) nodeState(ctx context.Context, name string) (state string, ready bool) {
	client, err := c.client()
	if err != nil {
		return err.Error(), false
	}
	node, err := client.Node(ctx, name)
	if err != nil {
		return err.Error(), false
	}
	if ready, why := node.Ready(); !ready {
		return "not ready: " + why, false
	}
	return "ready, " + node.Status.NodeInfo.KubeletVersion, true
}
