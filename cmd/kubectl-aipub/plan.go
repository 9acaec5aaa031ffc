// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime"

	api "aipub.io/aipub/api/v1alpha1"
)

func newPlan(a *app) *cobra.Command {
	var file string
	var dryRun bool
	cmd := &cobra.Command{
		Use:   "plan (NAME | -f POLICY.yaml [NAME]) [--dry-run]",
		Short: "Explain what a PartitionPolicy would make of the nodes",
		Long: `Explain what a PartitionPolicy would make of the present nodes: the size of each
set, how each GPU is cut, what is left over, what is refused and why, and what
changes against what is in force: which sets appear, vanish or change size, which
GPUs must be idle before they can be cut anew, and who holds them.

plan never changes anything, with or without --dry-run; kubectl apply -f applies
a policy. It exits with status 1 when something of the policy is refused.

In the table of sets, TOGETHER is how many can be held at once when all sets take
one in turn, ALONE how many while no other set is held. -o wide adds how the
policy came to each GPU's cut; -o json and -o yaml are for scripts.

With --offline the nodes come from a file, so that a policy can be tried without
a cluster; ` + dumpHint + `.`,
		Example: `  # What would this policy do?
  kubectl aipub plan -f policy.yaml --dry-run

  # Explain the layout that is in force
  kubectl aipub plan h200

  # Try a policy on nodes that were saved to a file
  kubectl get nodes,nodepartitions,partitionpolicies,resourcesets -o yaml > cluster.yaml
  kubectl aipub plan -f policy.yaml --offline cluster.yaml`,
		ValidArgsFunction: a.completeNames(func() nameList { return &api.PartitionPolicyList{} }),
	}
	cmd.Flags().StringVarP(&file, "filename", "f", "", "The file with the policy, '-' for standard input.")
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "Accepted for clearness: plan never changes anything.")
	out := addPlainOutput(cmd)
	cmd.RunE = func(cmd *cobra.Command, names []string) error {
		if err := errors.Join(out.check(), a.checkPlanInput(file, names)); err != nil {
			return err
		}
		err := a.plan(cmd.Context(), file, append(names, "")[0], out)
		if table, _ := out.table(); file != "" && !dryRun && table && err == nil {
			a.note("nothing was changed; apply the policy with kubectl apply -f " + file)
		}
		return err
	}
	return cmd
}

func (a *app) checkPlanInput(file string, names []string) error {
	switch {
	case len(names) > 1:
		return fmt.Errorf("plan takes one policy, but got %d names", len(names))
	case file == "" && len(names) == 0:
		return errors.New("name a policy of the cluster, or give a file with -f; see kubectl aipub plan --help")
	case file == "-" && a.offline == "-":
		return errors.New("-f and --offline cannot both read standard input; write one of them to a file")
	}
	return nil
}

func (a *app) plan(ctx context.Context, file, name string, out *output) error {
	var policy api.PartitionPolicy
	if file != "" {
		var err error
		if policy, err = a.readPolicy(file, name); err != nil {
			return err
		}
	}
	from, err := a.source()
	if err != nil {
		return err
	}
	var f facts
	notes, err := gather(ctx, from,
		[]runtime.Object{&f.partitions, &f.nodes, &f.policies},
		[]runtime.Object{&f.sets})
	if err != nil {
		return err
	}
	a.note(notes...)
	if file == "" {
		if policy, err = choosePolicy(f.policies.Items, "the cluster", name); err != nil {
			return err
		}
	}
	p, err := makePlan(policy, f, a.now())
	if err != nil {
		return err
	}
	if err := a.printPlan(p, out); err != nil {
		return err
	}
	return verdictOf(p, f)
}

// verdictOf is the error that a plan ends with, if the policy would not do.
func verdictOf(p *plan, f facts) error {
	switch n := len(rejectionLines(p.Refused)); {
	case n == 1:
		return fmt.Errorf("policy %s would be refused in part, for the reason above; mend it before you apply it", p.Policy)
	case n > 1:
		return fmt.Errorf("policy %s would be refused in part, for the %d reasons above; mend it before you apply it", p.Policy, n)
	case len(p.Nodes) == 0:
		return errors.New(noNodes(p, f.nodes.Items))
	}
	return nil
}

// printPlan prints the plan in the wanted format.
func (a *app) printPlan(p *plan, out *output) error {
	var b bytes.Buffer
	var err error
	if table, _ := out.table(); table {
		err = writePlan(p, out, &b)
	} else {
		err = out.document(p, &b)
	}
	if err != nil {
		return fmt.Errorf("print plan: %w", err)
	}
	return a.show(&b)
}
