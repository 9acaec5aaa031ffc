// SPDX-License-Identifier: Apache-2.0

package nvml

import (
	"sync"

	gonvml "github.com/NVIDIA/go-nvml/pkg/nvml"
)

// guest is the library for packages that speak NVML on their own, each time between an
// Init and a Shutdown. The library is not given back meanwhile: go-nvml keeps the
// functions of a library in variables of the process, which the last Shutdown of one
// library would change beside the Init of the next.
type guest struct {
	gonvml.Interface

	mu     sync.Mutex
	left   sync.Cond // inside has become 0
	inside int
	closed bool
}

func newGuest(api gonvml.Interface) *guest {
	g := &guest{Interface: api}
	g.left.L = &g.mu
	return g
}

// Init answers ERROR_UNINITIALIZED once the Driver was closed.
func (g *guest) Init() gonvml.Return {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed && g.inside == 0 {
		return gonvml.ERROR_UNINITIALIZED
	}
	ret := g.Interface.Init()
	if ret == gonvml.SUCCESS {
		g.inside++
	}
	return ret
}

// Shutdown ends what one Init began.
func (g *guest) Shutdown() gonvml.Return {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.inside == 0 {
		return gonvml.ERROR_UNINITIALIZED
	}
	ret := g.Interface.Shutdown()
	if g.inside--; g.inside == 0 {
		g.left.Broadcast()
	}
	return ret
}

// close lets nobody in any more, and waits for who is inside.
func (g *guest) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
	for g.inside > 0 {
		g.left.Wait()
	}
}
