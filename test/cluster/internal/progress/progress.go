// SPDX-License-Identifier: Apache-2.0

// Package progress tells people what takes long, for how long already, and how long it should.
package progress

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// Reporter writes progress lines to Out, one each Every while a step lasts.
type Reporter struct {
	Out   io.Writer
	Every time.Duration
	Now   func() time.Time
}

// Step is something under way.
type Step struct {
	report Reporter
	title  string
	began  time.Time
	done   chan struct{}
	ended  sync.WaitGroup
}

// Step announces a step; expect says how long it takes or what it waits for. End must be called.
func (r Reporter) Step(title, expect string) *Step {
	s := &Step{report: r, title: title, began: r.Now(), done: make(chan struct{})}
	if expect != "" {
		s.title += " (" + expect + ")"
	}
	fmt.Fprintln(r.Out, s.title, "…")
	s.ended.Go(s.tick)
	return s
}

// End closes the step and returns err unchanged.
func (s *Step) End(err error) error {
	close(s.done)
	s.ended.Wait()
	word := "done in"
	if err != nil {
		word = "stopped after"
	}
	fmt.Fprintln(s.report.Out, s.title, "…", word, s.elapsed())
	return err
}

func (s *Step) tick() {
	ticker := time.NewTicker(s.report.Every)
	defer ticker.Stop()
	for {
		select {
		case <-s.done:
			return
		case <-ticker.C:
			fmt.Fprintln(s.report.Out, s.title, "…", s.elapsed())
		}
	}
}

func (s *Step) elapsed() time.Duration {
	elapsed := s.report.Now().Sub(s.began)
	if elapsed < 10*time.Second {
		return elapsed.Round(100 * time.Millisecond)
	}
	return elapsed.Round(time.Second)
}
