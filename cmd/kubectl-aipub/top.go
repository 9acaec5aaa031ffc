// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/sharer"
)

const (
	// leastInterval keeps a forgotten screen from being a load on the nodes, and
	// a rate from being that of a few leases.
	leastInterval = 500 * time.Millisecond
	// offlineNote stands in for why no agent is asked.
	offlineNote = "--offline: what follows is the agents' average over the minute before they last reported, from NodePartitions"
)

// topOptions are the flags of top.
type topOptions struct {
	interval time.Duration
	once     bool
	all      bool // namespaces
	order    string
}

func newTop(a *app) *cobra.Command {
	o := topOptions{}
	cmd := &cobra.Command{
		Use:   "top [NODE...]",
		Short: "Show how shares of GPUs are used now, lent and borrowed",
		Long: `Show how block slices, the shares of one GPU, are used now.

On a terminal the tables are drawn anew every --interval until Ctrl-C; else, and
with --once or -o json, they are printed once, from two reports one interval
apart. Percents are of one GPU's time. The first table sums up the GPUs: UNUSED
is what is guaranteed to somebody but was neither used nor lent.

The reports come from the node agents through the API server, which takes the
permission to list pods and to get pods/proxy in aipub-system. Without it, the
averages over the last minute in the NodePartitions are shown.`,
		Example: `  # All nodes, as it changes
  kubectl aipub top

  # Who waits most on one node
  kubectl aipub top gpu-01 --sort waiting

  # The containers of a namespace, once, with everything that is known of them
  kubectl aipub top -n vision --once -o wide`,
		ValidArgsFunction: a.completeNames(func() nameList { return &api.NodePartitionList{} }),
	}
	out := addPlainOutput(cmd)
	cmd.Flags().DurationVar(&o.interval, "interval", 2*time.Second, "Time between two reports, at least 500ms.")
	cmd.Flags().BoolVar(&o.once, "once", false, "Print once, also on a terminal.")
	cmd.Flags().BoolVarP(&o.all, "all-namespaces", "A", false, "Show the containers of all namespaces, which is the default; overrides -n.")
	cmd.Flags().StringVar(&o.order, "sort", topOrders[0], "Order of containers: "+strings.Join(topOrders, ", ")+".")
	// The only error is a flag that does not exist.
	_ = cmd.RegisterFlagCompletionFunc("sort", cobra.FixedCompletions(topOrders, cobra.ShellCompDirectiveNoFileComp))
	cmd.RunE = func(cmd *cobra.Command, nodes []string) error {
		if err := errors.Join(out.check(), o.check()); err != nil {
			return err
		}
		return a.top(cmd.Context(), nodes, o, out)
	}
	return cmd
}

func (o topOptions) check() error {
	if o.interval < leastInterval {
		return fmt.Errorf("--interval %s: too short; it must be at least %s", o.interval, leastInterval)
	}
	if !slices.Contains(topOrders, o.order) {
		return fmt.Errorf("--sort %s: no such order%s; the orders are %s", o.order, didYouMean(o.order, topOrders), strings.Join(topOrders, ", "))
	}
	return nil
}

func (a *app) top(ctx context.Context, nodes []string, o topOptions, out *output) error {
	reader, err := a.shareReader(nodes, o)
	if err != nil {
		return err
	}
	_, _, terminal := a.screen()
	if table, _ := out.table(); terminal && table && !o.once {
		return a.topLive(ctx, reader, o, out)
	}
	return a.topOnce(ctx, reader, o, out)
}

func (a *app) shareReader(nodes []string, o topOptions) (*shareReader, error) {
	from, err := a.source()
	if err != nil {
		return nil, err
	}
	r := &shareReader{
		from: from, nodes: slices.Compact(slices.Sorted(slices.Values(nodes))),
		within: answerWithin, why: offlineNote, last: map[string]sharer.Report{},
	}
	if c, ok := from.(*cluster); ok {
		r.agents = c
	}
	if !o.all {
		r.namespace = *a.config.Namespace
	}
	return r, nil
}

// topOnce prints the shares between two reports. NodePartitions already hold
// averages.
func (a *app) topOnce(ctx context.Context, r *shareReader, o topOptions, out *output) error {
	s, err := r.read(ctx)
	if err == nil && r.agents != nil && r.answered > 0 {
		if err = a.wait(ctx, o.interval); err == nil {
			s, err = r.read(ctx)
		}
	}
	if err != nil {
		return err
	}
	sortShares(s.Containers, o.order)
	var b bytes.Buffer
	if table, _ := out.table(); table {
		err = writeShares(s, out, &b)
	} else {
		err = out.document(s, &b)
	}
	if err != nil {
		return fmt.Errorf("print shares: %w", err)
	}
	if err := a.show(&b); err != nil {
		return err
	}
	a.note(s.Notes...)
	if r.asked > 0 && r.answered == 0 {
		return errors.New("no node agent answered, for the reason above")
	}
	return nil
}

// topLive draws the shares anew until ctx ends, which is how it is meant to
// end. After the first time, what cannot be read is a note below the last table.
func (a *app) topLive(ctx context.Context, r *shareReader, o topOptions, out *output) error {
	var shown *shares
	pause := leastInterval // only the second report gives rates
	for {
		s, err := r.read(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil && shown == nil:
			return err
		case err != nil:
			shown.Notes = []string{fmt.Sprintf("this is out of date: %v", explain(err))}
		default:
			if shown == nil {
				_, _ = io.WriteString(a.Out, clearScreen) // drawing says what is wrong with Out
			}
			shown = s
			sortShares(shown.Containers, o.order)
		}
		if err := a.drawShares(shown, o, out); err != nil {
			return err
		}
		if a.wait(ctx, pause) != nil {
			return nil
		}
		pause = o.interval
	}
}

func (a *app) drawShares(s *shares, o topOptions, out *output) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s, every %s; Ctrl-C ends\n\n", a.now().Format(time.TimeOnly), o.interval)
	if err := writeShares(s, out, &b); err != nil {
		return fmt.Errorf("print shares: %w", err)
	}
	for _, n := range s.Notes {
		fmt.Fprintln(&b, "note:", n)
	}
	rows, columns, _ := a.screen()
	if _, err := io.WriteString(a.Out, frame(b.String(), rows, columns)); err != nil {
		return fmt.Errorf("print shares: %w", err)
	}
	return nil
}
