// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// fieldManager is who changes objects, in their managed fields.
const fieldManager = "kubectl-aipub"

// Values of --dry-run.
const (
	dryRunNone   = "none"
	dryRunClient = "client"
	dryRunServer = "server"
)

// dryRunFlag adds --dry-run with the values given, beside none.
func dryRunFlag(cmd *cobra.Command, into *string, values ...string) {
	*into = dryRunNone
	cmd.Flags().StringVar(into, "dry-run", dryRunNone, "Change nothing: "+strings.Join(values, " or ")+
		". With server, the API server checks it, with its webhooks and quotas.")
	// The only error is a flag that does not exist.
	_ = cmd.RegisterFlagCompletionFunc("dry-run", cobra.FixedCompletions(append(values, dryRunNone), cobra.ShellCompDirectiveNoFileComp))
}

// checkDryRun refuses values that do not exist.
func checkDryRun(value string, allowed ...string) error {
	for _, v := range append(allowed, dryRunNone) {
		if v == value {
			return nil
		}
	}
	return fmt.Errorf("--dry-run %s: give %s or none", value, strings.Join(allowed, ", "))
}

// dryRunWords stand behind what was not really done.
func dryRunWords(value string) string {
	if value == dryRunNone {
		return ""
	}
	return fmt.Sprintf(" (%s dry run: nothing was changed)", value)
}

// writable is the cluster, for commands that change something in it.
func (a *app) writable() (*cluster, error) {
	from, err := a.source()
	if err != nil {
		return nil, err
	}
	c, ok := from.(*cluster)
	if !ok {
		return nil, errors.New("--offline reads a file, in which nothing can be changed; leave it out")
	}
	return c, nil
}

// patch merges changes into an object, if it still has the resourceVersion that the
// changes name, and returns it as it is then.
func (a *app) patch(ctx context.Context, c *cluster, b *bound, changes map[string]any, dryRun string) (*bound, error) {
	raw, err := json.Marshal(changes)
	if err != nil {
		return nil, fmt.Errorf("make patch: %w", err)
	}
	client, err := a.objects(c, b.ref.kind, b.Namespace)
	if err != nil {
		return nil, err
	}
	options := metav1.PatchOptions{FieldManager: fieldManager}
	if dryRun == dryRunServer {
		options.DryRun = []string{metav1.DryRunAll}
	}
	u, err := client.Patch(ctx, b.Name, types.MergePatchType, raw, options)
	if err != nil {
		return nil, err
	}
	return newBound(b.ref.kind, u, a.now())
}

// annotated is a patch that sets annotations, or takes away those that are nil.
func annotated(annotations map[string]any) map[string]any {
	return map[string]any{"metadata": map[string]any{"annotations": annotations}}
}

// isNoNamespace tells a namespace that is not there from a kind that is not.
func isNoNamespace(err error) bool {
	var status apierrors.APIStatus
	if !apierrors.IsNotFound(err) || !errors.As(err, &status) {
		return false
	}
	details := status.Status().Details
	return details != nil && details.Kind == "namespaces"
}

// refused says in a sentence why the API server did not do something.
func refused(r boundRef, verb, done string, err error) error {
	switch {
	case apierrors.IsNotFound(err) && verb != "create":
		return fmt.Errorf("%s is gone", r)
	case apierrors.IsForbidden(err) && strings.Contains(err.Error(), " cannot "+verb+" resource "):
		return lacks([]right{{verb: verb, group: r.kind.Group, resource: r.kind.resource, namespace: r.namespace}})
	case apierrors.IsAlreadyExists(err):
		return fmt.Errorf("there is a %s already; choose another name, or look at it: %s", r, r.command("show"))
	case isNoNamespace(err):
		return fmt.Errorf("there is no namespace %q; choose one with -n, or make it: kubectl create namespace %s", r.namespace, r.namespace)
	case apierrors.IsNotFound(err):
		return &readError{resource: r.kind.resource, group: r.kind.Group, err: err}
	}
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return fmt.Errorf("%s %s: %w", verb, r, err)
	}
	message := status.Status().Message
	// A webhook's sentence stands behind its name.
	if _, sentence, ok := strings.Cut(message, "denied the request: "); ok {
		message = sentence
	}
	return fmt.Errorf("%s was not %s: %s", r, done, message)
}

// doing changes something, and returns it as it is then, or nil where there is nothing
// to wait for.
type doing func(context.Context, *cluster, *bound) (*bound, error)

// each does something for each of the names and then, if there is something that it
// leads to, waits for that. It returns what went wrong for any.
func (a *app) each(ctx context.Context, names []string, do doing, there arrived) error {
	c, err := a.writable()
	if err != nil {
		return err
	}
	var done []*bound
	var errs []error
	for _, name := range names {
		b, err := a.findBound(ctx, c, name)
		if err == nil {
			b, err = do(ctx, c, b)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			errs = append(errs, explain(err))
		} else if b != nil && there != nil {
			done = append(done, b)
		}
	}
	for _, b := range done {
		err := a.follow(ctx, c, b, there)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			errs = append(errs, explain(err))
		}
	}
	return errors.Join(errs...)
}

// waitFor is what --wait waits for: nothing without it, or in a dry run.
func waitFor(wait bool, dryRun string, there arrived) arrived {
	if !wait || dryRun != dryRunNone {
		return nil
	}
	return there
}

// say prints a line of output.
func (a *app) say(format string, args ...any) error {
	if _, err := fmt.Fprintf(a.Out, format+"\n", args...); err != nil {
		return fmt.Errorf("print: %w", err)
	}
	return nil
}
