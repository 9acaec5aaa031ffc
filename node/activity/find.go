// SPDX-License-Identifier: Apache-2.0

package activity

// finder finds a process of each container, and stays with it while it lives.
type finder struct {
	pids     func() ([]int, error)
	identify Identify
	known    map[string]process
}

// process is one for as long as it lives: its number may be used again.
type process struct {
	pid   int
	start uint64
}

// find names the oldest process of each container, or the one that it named
// before. All processes are looked at only when one is missing.
func (f *finder) find(containers []string) map[string]int {
	found, missing := map[string]process{}, map[string]bool{}
	for _, id := range containers {
		p, ok := f.known[id]
		if ok {
			now, start, err := f.identify(p.pid)
			ok = err == nil && now == id && start == p.start
		}
		if ok {
			found[id] = p
		} else {
			missing[id] = true
		}
	}
	if len(missing) > 0 {
		f.search(missing, found)
	}
	f.known = found
	pids := map[string]int{}
	for id, p := range found {
		pids[id] = p.pid
	}
	return pids
}

func (f *finder) search(missing map[string]bool, found map[string]process) {
	pids, err := f.pids()
	if err != nil {
		return
	}
	for _, pid := range pids {
		id, start, err := f.identify(pid)
		if err != nil || !missing[id] {
			continue // it ended just now, or is not ours
		}
		if p, ok := found[id]; !ok || start < p.start {
			found[id] = process{pid, start}
		}
	}
}
