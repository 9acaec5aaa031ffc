// SPDX-License-Identifier: Apache-2.0

package quota_test

import (
	"fmt"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"aipub.io/aipub/quota"
	"aipub.io/aipub/quota/queue"
)

const orderSize = 50_000

// BenchmarkOrder is the order itself, in process: 50,000 waiting workloads are put in
// order and one of them is moved; or the first 500 of all projects are listed.
func BenchmarkOrder(b *testing.B) {
	for b.Loop() {
		var moves, lists []time.Duration
		one, many := shuffled(1), shuffled(1000)
		for range 20 {
			began := time.Now()
			order := append([]queue.Item{}, one...)
			queue.Sort(order)
			effect, err := queue.MoveTo(order, order[orderSize-1].Workload, 1)
			moves = append(moves, time.Since(began))
			must(b, err)
			if len(effect.Delayed) != orderSize-1 {
				b.Fatalf("a move to the front delays %d", len(effect.Delayed))
			}

			began = time.Now()
			turns := queue.NewTurns(many, func(string) queue.Settings { return queue.SettingsOf(nil) }, func(string) float64 { return 0 })
			for range 500 {
				if _, ok := turns.Next(); !ok {
					b.Fatal("the queue is shorter than 500")
				}
			}
			lists = append(lists, time.Since(began))
		}
		what := fmt.Sprintf("in process, %d workloads; best of 20, since others use the machine", orderSize)
		figure(b, "queue.move_ms", at(moves, 0), "ms", what+"; one project's queue is sorted, its last is moved to the front", spread("move", moves))
		figure(b, "queue.list_ms", at(lists, 0), "ms", what+"; the first 500 of 1000 projects in turn", spread("list", lists))
	}
}

// shuffled is a crowd in no order, as a cache gives it.
func shuffled(projects int) []queue.Item {
	random := rand.New(rand.NewPCG(1, 2))
	start := time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
	items := make([]queue.Item, orderSize)
	for i := range items {
		p := project(i % projects)
		items[i] = queue.Item{
			Workload: quota.Workload{Group: "batch", Kind: "Job", Namespace: p, Name: fmt.Sprintf("job-%d", i), UID: fmt.Sprintf("%08x-%d", random.Uint32(), i)},
			Party:    quota.Party{Project: p, User: person(i % people), Type: "Job"},
			Created:  start.Add(time.Duration(i/20) * time.Second),
		}
	}
	random.Shuffle(len(items), func(i, j int) { items[i], items[j] = items[j], items[i] })
	return items
}

// commandLine measures what an administrator waits for: the plugin reads the cluster,
// decides and prints.
func (s *server) commandLine(b *testing.B) {
	b.Helper()
	program, config := build(b, "kubectl-aipub"), s.adminConfig(b)
	run := func(args ...string) time.Duration {
		began := time.Now()
		command := exec.Command(program, append(args, "--kubeconfig", config)...)
		if out, err := command.CombinedOutput(); err != nil {
			b.Fatalf("kubectl aipub %v: %v\n%.2000s", args, err, out)
		}
		return time.Since(began)
	}
	last := fmt.Sprintf("%s/pod/wait-%d", project(0), (*waitingPods-1)/projectCount*projectCount)
	var lists, moves []time.Duration
	for range 3 {
		lists = append(lists, run("queue", project(0)))
		moves = append(moves, run("queue", "move", last, "--to", "1", "--dry-run"))
	}
	what := fmt.Sprintf("with the command line, %d waiting pods of %d projects read from the API server; worst of 3", *waitingPods, projectCount)
	figure(b, "queue.cli_move_ms", at(moves, 1), "ms", what+"; a dry run", spread("move", moves))
	figure(b, "queue.cli_list_ms", at(lists, 1), "ms", what, spread("list", lists))
}

// adminConfig is a kubeconfig with all rights.
func (s *server) adminConfig(b *testing.B) string {
	b.Helper()
	c := clientcmdapi.NewConfig()
	c.Clusters["c"] = &clientcmdapi.Cluster{Server: s.config.Host, CertificateAuthorityData: s.config.CAData}
	c.AuthInfos["u"] = &clientcmdapi.AuthInfo{ClientCertificateData: s.config.CertData, ClientKeyData: s.config.KeyData}
	c.Contexts["x"] = &clientcmdapi.Context{Cluster: "c", AuthInfo: "u"}
	c.CurrentContext = "x"
	path := filepath.Join(b.TempDir(), "kubeconfig")
	must(b, clientcmd.WriteToFile(*c, path))
	return path
}
