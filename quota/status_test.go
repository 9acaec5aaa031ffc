// SPDX-License-Identifier: Apache-2.0

package quota

import (
	"fmt"
	"math"
	"testing"

	"sigs.k8s.io/yaml"
)

func asYAML(t *testing.T, v any) string {
	t.Helper()
	out, err := yaml.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func TestStatus(t *testing.T) {
	b := bookOf(quotaOf("q", ofEachUser("vision"), sets("small", 3), lending(0)))
	b.Reserve(floorOf(2, small(1)))
	charged(t, b,
		serve("s1", "r1", small(1)).at(5), serve("s2", "r1", small(1)).at(3).due(60), serve("s3", "r1", small(1)).at(4),
		pod("j", "bob", small(3)), pod("k", "bob", map[string]int64{"small": 1, "mig": 1}).at(1),
		serve("t1", "r2", small(1)).at(6))
	b.Release("s1")
	b.Release("s2")
	b.Release("t1")
	want(t, "status", asYAML(t, b.Status("q")), `borrowed:
  gpu: 393m
  pods: 1
  sets:
    mig: 1
    small: 1
holders:
- held:
    gpu: 750m
    pods: 1
    sets:
      small: 3
  kind: Job
  name: j
  namespace: ml
  since: "2026-11-30T12:00:00Z"
  type: Job
  user: bob
- held:
    gpu: 393m
    pods: 1
    sets:
      mig: 1
      small: 1
  kind: Job
  name: k
  namespace: ml
  since: "2026-11-30T12:01:00Z"
  type: Job
  user: bob
- held:
    gpu: 250m
    pods: 1
    sets:
      small: 1
  kind: Deployment
  name: serve
  namespace: ml
  since: "2026-11-30T12:04:00Z"
  type: Operation
  user: alice
reserved:
  gpu: 250m
  sets:
    small: 1
surge: {}
used:
  gpu: 1393m
  pods: 3
  sets:
    mig: 1
    small: 5
users:
- used:
    gpu: 1143m
    pods: 2
    sets:
      mig: 1
      small: 4
  user: bob
  waiting: {}
- used:
    gpu: 250m
    pods: 1
    sets:
      small: 1
  user: alice
  waiting: {}
waiting: {}
`)
	want(t, "an unknown quota", asYAML(t, b.Status("other").Holders), "null\n")
}

func TestStatusIsBounded(t *testing.T) {
	b := bookOf(quotaOf("q", ofProject("vision")))
	for i := range 150 {
		b.Charge(pod(fmt.Sprintf("p%03d", i), fmt.Sprintf("u%03d", i), small(1)), Within)
	}
	s := b.Status("q")
	if len(s.Holders) != 100 || s.LeftOff != 50 || len(s.Users) != 100 || s.Used.Pods != 150 {
		t.Errorf("%d holders, %d left off, %d users, %d pods", len(s.Holders), s.LeftOff, len(s.Users), s.Used.Pods)
	}
}

func TestLoad(t *testing.T) {
	b := bookOf(
		quotaOf("q", ofProject("vision"), sets("small", 4), gpus("4"), only("Workspace", gpus("0.5"))),
		quotaOf("none", ofProject("audio"), sets("small", 0)),
		quotaOf("each", ofEachUser("text"), sets("small", 1)),
	)
	load := func(what, project string, wanted float64) {
		t.Helper()
		if got := b.Load(project); got != wanted {
			t.Errorf("%s: load of %s is %v, want %v", what, project, got, wanted)
		}
	}
	load("nothing charged", "vision", 0)
	load("nothing of nothing", "audio", 0)
	b.Charge(pod("a", "alice", small(2)), Within)
	load("half of the sets", "vision", 0.5)
	b.Charge(pod("w", "alice", small(2)).as("Workspace"), Within)
	load("all that Workspaces may", "vision", 1)
	b.Charge(pod("c", "alice", small(1)).in("audio"), Within)
	load("something of nothing", "audio", math.Inf(1))
	b.Charge(pod("d", "alice", small(1)).in("text"), Within)
	load("without a quota of the project as a whole", "text", 0)
}
