// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	loan "aipub.io/aipub/sharer/memory"
	"aipub.io/aipub/sharer/socket"
)

// view is what the agent knows of a slice and its processes.
func (m *market) view(slice string) socket.SliceView {
	for _, v := range m.agent.sharing.server.View().Slices {
		if string(v.ID) == slice {
			return v
		}
	}
	return socket.SliceView{}
}

// used is how long the container of a slice has had the GPU.
func (m *market) used(slice string) time.Duration {
	for _, t := range m.agent.sharing.server.View().Tenants {
		if string(t.Slices[0]) == slice {
			return t.Used
		}
	}
	return 0
}

// Two who work all the time, and one who waits after each burst and whose memory was on
// loan, share the GPU beside a borrower that is checkpointed at work.
func TestOthersKeepTheirSharesBesideACheckpointedBorrower(t *testing.T) {
	m := newMarket(t, true, "- {name: quarter, gpu: {blockPercent: 25}}\n")
	m.delete(m.owned)
	ids := make([]string, 3)
	for i := range ids {
		_, one := m.pod("quarter", 1)
		ids[i] = one[0]
	}
	run := func(slice string, gib int, more ...string) {
		_, out := m.tenant(slice, gib, more...)
		go drain(out)
	}
	m.eventually("the borrower may have most of the GPU", func() bool { return m.limitGiB(m.borrower) > 110 })
	run(m.borrower, 107, "--gap-ms", "0")
	// First of all: it may have less once others are there.
	m.eventually("the borrower has what it asked for", func() bool { return m.view(m.borrower).Memory.Total() >= 107<<30 })
	run(ids[0], 1, "--gap-ms", "0")
	run(ids[1], 1, "--gap-ms", "0")
	m.eventually("all three work", func() bool { return m.launches(m.borrower) > 0 && m.launches(ids[0]) > 0 && m.launches(ids[1]) > 0 })
	run(ids[2], 30, "--gap-ms", "0", "--burst", "8")
	m.eventually("the borrower is checkpointed", func() bool { return slices.Contains(m.steps(), string(loan.Checkpointed)) })
	m.eventually("who needed the memory works", func() bool { return m.launches(ids[2]) > 0 })

	before := make([]time.Duration, len(ids))
	for i, id := range ids {
		before[i] = m.used(id)
	}
	had := make([]time.Duration, len(ids))
	m.eventually("one has had the GPU for a second", func() bool {
		for i, id := range ids {
			had[i] = m.used(id) - before[i]
		}
		return slices.Max(had) > time.Second
	})
	t.Logf("the others have had %v", had)
	if 3*slices.Min(had) < 2*slices.Max(had) {
		t.Errorf("three with a quarter each, all busy, have had %v of the GPU", had)
	}
}

// Somebody removes the agent's folders. A program that runs goes on, and one that
// starts is limited as ever.
func TestFoldersThatAreRemovedDisturbNoProgram(t *testing.T) {
	m := newMarket(t, false, "")
	cmd, out := m.tenant(m.owner, 4)
	go drain(out)
	m.eventually("the program works", func() bool { return m.launches(m.owner) > 0 })
	m.must(os.RemoveAll(filepath.Join(m.options.runDir, "slices")))
	m.eventually("there is a folder again", func() bool { return m.guaranteed(m.owner) == 500 })
	done := m.launches(m.owner)
	m.eventually("the program goes on", func() bool { return m.launches(m.owner) > done+10 })
	_, more := m.tenant(m.owner, 4)
	go drain(more)
	m.eventually("another one is attached beside it", func() bool { return len(m.view(m.owner).Processes) == 2 })
	m.eventually("both programs' memory counts", func() bool { return m.view(m.owner).Memory.Total() >= 8<<30 })
	m.must(cmd.Process.Kill())
	m.eventually("the first one's memory is free", func() bool {
		v := m.view(m.owner)
		return len(v.Processes) == 1 && v.Memory.Total() < 8<<30
	})
}
