// SPDX-License-Identifier: Apache-2.0

package socket_test

import (
	"bytes"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"aipub.io/aipub/sharer/socket"
)

// journal is a log that can be read while it is written.
type journal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (j *journal) Write(b []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(b)
}

func (j *journal) count(what string) int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return strings.Count(j.text.String(), what)
}

// A container that damages its page over and over, lets it grow, and sends
// impostors, has one line of each in the log.
func TestAHostileContainerDoesNotFloodTheLog(t *testing.T) {
	var log journal
	r := newRig(t, func(c *socket.Config) { c.Log = slog.New(slog.NewTextHandler(&log, nil)) })
	r.set(block("a", 500), block("b", 500))
	a := r.attached("a")
	for range 20 {
		damage := r.slice("a").Damage
		a.do("truncate 10000000")
		r.eventually("the page is put right", func() bool { return r.slice("a").Damage > damage })
	}
	for range 20 {
		c := r.client("a", "claim", "connect")
		c.expect("impostor", "refused")
		c.kill()
	}
	for _, what := range []string{"damaged its page", "refused a process"} {
		if n := log.count(what); n != 1 {
			t.Errorf("the log says %d times that a container %s, want once a minute", n, what)
		}
	}
}
