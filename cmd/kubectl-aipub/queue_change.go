// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/quota/queue"
)

// change is a new place for one workload, not yet written.
type change struct {
	waiter *waiter
	effect queue.Effect
	order  []queue.Item // that the effect counts places in
	scope  string       // which order that is, in words
	notes  []string
}

// maker works out a change from the queues as they are.
type maker func(ctx context.Context, from lister, q *queues) (*change, error)

// attempts is how often a change is worked out anew when the workload was changed
// by somebody else in between.
const attempts = 4

// change works a change out, shows its effect and, unless it is a dry run, writes
// it by compare-and-swap.
func (a *app) change(ctx context.Context, dryRun bool, out *output, work maker) error {
	from, err := a.source()
	if err != nil {
		return err
	}
	target, online := from.(*cluster)
	if !online && !dryRun {
		return errors.New("--offline reads a file, in which no order can be changed; add --dry-run to see what would happen")
	}
	for range attempts {
		q, err := a.readQueues(ctx, from)
		if err != nil {
			return err
		}
		c, err := work(ctx, from, q)
		if err != nil {
			return err
		}
		missing, err := a.missingRights(ctx, from, c)
		if err != nil {
			return err
		}
		if dryRun || c.none() || len(missing) > 0 {
			return a.showChange(c, dryRun, missing, out)
		}
		switch err := a.write(ctx, target, c); {
		case err == nil:
			return a.showChange(c, false, nil, out)
		case apierrors.IsConflict(err):
			a.note(fmt.Sprintf("%s was changed by somebody else meanwhile; the order is read anew", refOf(c.waiter.Workload)))
		default:
			return refusedChange(c, err)
		}
	}
	return fmt.Errorf("the workload was changed by somebody else %d times while its place was worked out; nothing was changed, try again", attempts)
}

// none reports whether everything is as it would be.
func (c *change) none() bool { return len(c.annotations()) == 0 }

// annotations are those to write; nil takes one away.
func (c *change) annotations() map[string]*string {
	out := map[string]*string{}
	set := func(name, is, wanted string) {
		switch {
		case is == wanted:
		case wanted == "":
			out[name] = nil
		default:
			out[name] = &wanted
		}
	}
	set(api.RankAnnotation, c.waiter.Rank, c.effect.Rank)
	set(api.PromotedAnnotation, c.waiter.Promoted, c.effect.Promoted)
	return out
}

// rights are what a change takes beside the right to patch the workload.
func (c *change) rights() []right {
	project := c.waiter.Party.Project
	var out []right
	for name := range c.annotations() {
		r := right{verb: "reorder", group: api.GroupVersion.Group, resource: "priorityqueues", name: project}
		if name == api.PromotedAnnotation {
			r.verb, r.name = "promote", "" // before all projects: a right on all queues
		}
		out = append(out, r)
	}
	return out
}

// missingRights are those that the caller lacks; none where that cannot be asked.
func (a *app) missingRights(ctx context.Context, from lister, c *change) ([]right, error) {
	target, online := from.(*cluster)
	if !online || c.none() {
		return nil, nil
	}
	w := c.waiter.Workload
	resource, err := resourceOf(schema.GroupKind{Group: w.Group, Kind: w.Kind}, a.config.ToRESTMapper)
	if err != nil {
		return nil, err
	}
	var missing []right
	patch := right{verb: "patch", group: resource.Group, resource: resource.Resource, namespace: w.Namespace, name: w.Name}
	for _, r := range append([]right{patch}, c.rights()...) {
		ok, err := target.may(ctx, r)
		if err != nil {
			return nil, err
		}
		if !ok {
			missing = append(missing, r)
		}
	}
	return missing, nil
}

func (a *app) write(ctx context.Context, target *cluster, c *change) error {
	w := c.waiter.Workload
	resource, err := resourceOf(schema.GroupKind{Group: w.Group, Kind: w.Kind}, a.config.ToRESTMapper)
	if err != nil {
		return err
	}
	return target.annotate(ctx, resource, w.Namespace, w.Name, c.waiter.version, c.annotations())
}

// refusedChange says why the API server did not take a change.
func refusedChange(c *change, err error) error {
	name := refOf(c.waiter.Workload)
	switch {
	case apierrors.IsNotFound(err):
		return fmt.Errorf("%s is gone; nothing was changed", name)
	case apierrors.IsForbidden(err), apierrors.IsInvalid(err):
		return fmt.Errorf("the API server does not let you change the place of %s: %w", name, err)
	}
	return fmt.Errorf("change place of %s: %w", name, err)
}

// lacks says which rights are missing and how to look them up.
func lacks(missing []right) error {
	var errs []error
	for _, r := range missing {
		errs = append(errs, fmt.Errorf("you are not allowed to %s: ask an administrator for that verb, or check with %s", r, r.command()))
	}
	return errors.Join(errs...)
}

func (a *app) showChange(c *change, dryRun bool, missing []right, out *output) error {
	d := c.document(dryRun, len(missing) == 0 && !dryRun && !c.none())
	var b bytes.Buffer
	var err error
	if table, _ := out.table(); table {
		err = writeChange(d, out, &b)
	} else {
		err = out.document(d, &b)
	}
	if err != nil {
		return fmt.Errorf("print change: %w", err)
	}
	if err := a.show(&b); err != nil {
		return err
	}
	a.note(c.notes...)
	return lacks(missing)
}

// changeDoc is a change and its effect. Its JSON form is for scripts.
type changeDoc struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Workload   string `json:"workload"`
	Project    string `json:"project"`
	// Scope is which order From and To are places in.
	Scope string `json:"scope"`
	From  int    `json:"from"`
	To    int    `json:"to"`
	// Rank and Promoted are what the annotations are after it; empty: none.
	Rank     string `json:"rank,omitempty"`
	Promoted string `json:"promoted,omitempty"`
	DryRun   bool   `json:"dryRun"`
	// Done is true when it was written.
	Done    bool         `json:"done"`
	Delayed []delayedRow `json:"delayed"`
}

// delayedRow is who stands further back than before.
type delayedRow struct {
	Workload string `json:"workload"`
	Project  string `json:"project"`
	User     string `json:"user"`
	From     int    `json:"from"`
	To       int    `json:"to"`
	// Created is when the workload was made.
	Created metav1.Time `json:"created"`
}

func (c *change) document(dryRun, done bool) *changeDoc {
	e := c.effect
	d := &changeDoc{
		APIVersion: planVersion, Kind: "QueueChange", Workload: refOf(c.waiter.Workload), Project: c.waiter.Party.Project,
		Scope: c.scope, From: e.From, To: e.To, Rank: e.Rank, Promoted: e.Promoted, DryRun: dryRun, Done: done,
		Delayed: []delayedRow{},
	}
	for i, it := range e.Delayed {
		row := delayedRow{Workload: refOf(it.Workload), Project: it.Party.Project, User: it.Party.User, From: e.To + i, To: e.To + i + 1,
			Created: metav1.NewTime(it.Created)}
		if e.To > e.From {
			row.From, row.To = e.From, e.To
		}
		d.Delayed = append(d.Delayed, row)
	}
	return d
}
