// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/sharer"
)

const (
	// answerWithin is how long an agent may take: a hung one must not hold up
	// the table of all others.
	answerWithin = 3 * time.Second
	// askedAtOnce is how many agents are asked at the same time.
	askedAtOnce = 32
)

// shareReader reads how block slices are used, round after round.
type shareReader struct {
	from      lister   // for NodePartitions
	agents    *cluster // nil when only NodePartitions are read
	why       string   // agents are not asked
	nodes     []string // to show; none: all
	namespace string   // of the containers to show; "" is all
	within    time.Duration

	last            map[string]sharer.Report // by node
	asked, answered int                      // agents, in the last round

	partitions []api.NodePartition // as of the last time that they were read, see unlimited
	round      int
}

// read is one round. Rates are known from the second on.
func (r *shareReader) read(ctx context.Context) (*shares, error) {
	s := &shares{APIVersion: planVersion, Kind: "Shares", Source: fromAgents}
	if r.agents != nil {
		var err error
		s.Containers, s.Notes, err = r.ask(ctx)
		if right := missingRight(err); right != "" {
			r.agents, r.why, r.asked = nil, right, 0
		} else if err != nil {
			return nil, err
		}
	}
	if r.agents == nil {
		var err error
		if s.Containers, err = partitionShares(ctx, r.from, r.nodes); err != nil {
			return nil, err
		}
		s.Source, s.Notes = fromPartitions, []string{r.why}
	}
	r.limit(s)
	s.Notes = append(s.Notes, findingNotes(s.Containers)...)
	if len(s.Containers) == 0 && (r.asked == 0 || r.answered > 0) {
		s.Notes = append(s.Notes, r.nothing())
	}
	return s, nil
}

// limit leaves the containers of the namespace that is asked for, and sums up
// the GPUs that they are on, with all others there.
func (r *shareReader) limit(s *shares) {
	s.GPUs = gpuShares(s.Containers)
	if r.namespace != "" {
		s.Containers = slices.DeleteFunc(s.Containers, func(c containerShare) bool { return c.Namespace != r.namespace })
		s.GPUs = slices.DeleteFunc(s.GPUs, func(g gpuShare) bool {
			return !slices.ContainsFunc(s.Containers, func(c containerShare) bool {
				return c.Node == g.Node && slices.Contains(c.GPUs, g.GPU)
			})
		})
	}
	if s.Containers == nil {
		s.Containers = []containerShare{}
	}
}

// nothing says why there is no row.
func (r *shareReader) nothing() string {
	switch {
	case r.agents != nil && r.asked == 0:
		return "no node agent runs in this cluster; install the chart, or choose another cluster with --context"
	case r.namespace != "":
		return fmt.Sprintf("no container of namespace %s holds a block slice; -A shows those of all namespaces", r.namespace)
	}
	return "no container holds a block slice; kubectl aipub sets shows which sets are a part of a GPU"
}

// ask has a report from each agent. One that gives none is a note.
func (r *shareReader) ask(ctx context.Context) (all []containerShare, notes []string, err error) {
	pods, err := r.agents.agents(ctx)
	if err != nil {
		return nil, nil, err
	}
	node := func(p corev1.Pod) string { return p.Spec.NodeName }
	picked, err := byName(pods, r.nodes, node, func(name string) error {
		known := make([]string, len(pods))
		for i, p := range pods {
			known[i] = node(p)
		}
		return noAgent(name, known)
	})
	if err != nil {
		return nil, nil, err
	}
	reports, errs := r.askAll(ctx, picked)
	r.asked, r.answered = len(picked), 0
	var empty []string
	for i, agent := range picked {
		switch {
		case ctx.Err() != nil:
			return nil, nil, ctx.Err()
		case apierrors.IsForbidden(errs[i]):
			return nil, nil, &proxyError{namespace: agent.Namespace, err: errs[i]}
		case errs[i] != nil:
			notes = append(notes, silence(agent, errs[i]))
			continue
		}
		r.answered++
		all = append(all, containerShares(r.last[node(agent)], reports[i])...)
		r.last[node(agent)] = reports[i]
		if len(reports[i].Tenants) == 0 {
			empty = append(empty, node(agent))
		}
	}
	held, said := r.unlimited(ctx, empty)
	return append(all, held...), append(notes, said...), nil
}

// askAll asks agents at the same time, each with a time limit of its own.
func (r *shareReader) askAll(ctx context.Context, agents []corev1.Pod) ([]sharer.Report, []error) {
	reports, errs := make([]sharer.Report, len(agents)), make([]error, len(agents))
	turns := make(chan struct{}, askedAtOnce)
	var wait sync.WaitGroup
	for i, agent := range agents {
		if agent.Status.Phase != corev1.PodRunning {
			errs[i] = errors.New("its agent does not run")
			continue
		}
		wait.Go(func() {
			turns <- struct{}{}
			defer func() { <-turns }()
			limited, cancel := context.WithTimeout(ctx, r.within)
			defer cancel()
			reports[i], errs[i] = r.agents.report(limited, agent)
		})
	}
	wait.Wait()
	return reports, errs
}

// noAgent says that a node that was named has none.
func noAgent(name string, known []string) error {
	return fmt.Errorf("there is no node agent on node %q%s; kubectl aipub nodes lists the nodes of AIPub", name, didYouMean(name, known))
}
