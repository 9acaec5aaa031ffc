// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"

	api "aipub.io/aipub/api/v1alpha1"
)

func TestQueueScreens(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*crowd)
		args   string
	}{
		"queue":                  {args: "queue"},
		"queue-project":          {args: "queue vision"},
		"queue-wide":             {args: "queue nlp -o wide"},
		"queue-json":             {args: "queue nlp -o json"},
		"queue-unknown":          {args: "queue vison"},
		"queue-two":              {args: "queue mvoe vision"},
		"queue-moved":            {args: "queue", change: moveSome},
		"queue-nothing-to-judge": {args: "queue vision", change: func(c *crowd) { c.nodes.Items = nil }},
		"queue-empty":            {args: "queue vision", change: func(c *crowd) { c.pods, c.jobs = nil, nil }},
		"move-before":            {args: "queue move vision/job/train-c --before vision/job/train-a --dry-run"},
		"move-to":                {args: "queue move jobs/train-a -n vision --to 3 --dry-run"},
		"move-json":              {args: "queue move vision/job/train-c --to 1 --dry-run -o json"},
		"move-pod":               {args: "queue move train-b-0 -n vision --to 1 --dry-run -o wide"},
		"move-nowhere":           {args: "queue move vision/job/train-a --to 1 --dry-run"},
		"move-too-far":           {args: "queue move vision/job/train-a --to 9 --dry-run"},
		"move-other-project":     {args: "queue move vision/job/train-a --before nlp/job/tune --dry-run"},
		"move-running":           {args: "queue move vision/run-0 --to 1 --dry-run"},
		"move-bare":              {args: "queue move train-a --to 1 --dry-run -n vision"},
		"move-unknown":           {args: "queue move vision/job/trian-a --to 1 --dry-run"},
		"move-both":              {args: "queue move vision/job/train-a --to 1 --before train-b-0"},
		"move-offline":           {args: "queue move vision/job/train-a --to 2"},
		"move-shape":             {args: "queue move a/b/c/d --to 2 --dry-run"},
		"move-gone":              {args: "queue move vision/job/train-a --to 2 --dry-run", change: func(c *crowd) { c.jobs = c.jobs[1:] }},
		"promote":                {args: "queue promote nlp/pod/probe --dry-run"},
		"promote-project":        {args: "queue promote nlp/pod/probe --dry-run --project-only", change: moveSome},
		"promote-again":          {args: "queue promote nlp/embed-0 --dry-run", change: moveSome},
	} {
		t.Run(name, func(t *testing.T) {
			c := crowded(t)
			if tc.change != nil {
				tc.change(c)
			}
			golden(t, name, c.kubectl(t, strings.Fields(tc.args)...))
		})
	}
}

// moveSome has a workload that was promoted, and one that was moved to the front of
// its project.
func moveSome(c *crowd) {
	for _, j := range c.jobs {
		switch j.Name {
		case "embed":
			j.Annotations[api.PromotedAnnotation] = "hh"
		case "train-c":
			j.Annotations[api.RankAnnotation] = "00000000001"
		}
	}
}

func TestWorkloadsAreFoundAsUsersWriteThem(t *testing.T) {
	c := crowded(t)
	for typed, want := range map[string]string{
		"vision/job/train-a":        "vision/job/train-a",
		"vision/Job/train-a":        "vision/job/train-a",
		"vision/jobs/train-a":       "vision/job/train-a",
		"vision/jobs.batch/train-a": "vision/job/train-a",
		"vision/train-a-1":          "vision/job/train-a",
		"vision/pod/train-a-1":      "vision/job/train-a",
		"vision/po/train-b-0":       "vision/job/train-b",
		"nlp/po/probe":              "nlp/pod/probe",
		"nlp/probe":                 "nlp/pod/probe",
	} {
		got := c.kubectl(t, "queue", "move", typed, "--to", "1", "--dry-run")
		if !strings.Contains(got, want+": place ") {
			t.Errorf("%s: got\n%s", typed, got)
		}
	}
}

func TestPlainKinds(t *testing.T) {
	for typed, want := range map[string]string{"deploy": "deployment", "StatefulSets": "statefulset", "sts": "statefulset", "rs": "replicaset", "ws": "workspace", "class": "class"} {
		if got := plainKind(typed); got != want {
			t.Errorf("%s: got %s, want %s", typed, got, want)
		}
	}
}

func TestWaitingWorkloadsAreCompleted(t *testing.T) {
	c := crowded(t)
	for args, want := range map[string]string{
		"queue move --offline - vision/job/train-b": "vision/job/train-b\n",
		"queue promote --offline - nlp/":            "nlp/job/embed\nnlp/job/tune\nnlp/pod/probe\n",
		"queue move --offline - x --before nlp/p":   "nlp/pod/probe\n",
		"queue --offline - vi":                      "vision\n",
		"why --offline - -n nlp pr":                 "probe\n",
		"quota --offline - vision-":                 "vision-each\n",
		"quota --offline - --storage v":             "vision\n",
	} {
		if got := terminal(t, c.dump(t), append([]string{"__complete"}, strings.Fields(args)...)...); !strings.Contains(got, "\n"+want) {
			t.Errorf("%s: got:\n%s", args, got)
		}
	}
}
