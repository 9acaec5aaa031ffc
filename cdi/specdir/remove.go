// SPDX-License-Identifier: Apache-2.0

package specdir

import (
	"errors"
	"fmt"
	"os"

	"aipub.io/aipub/cdi"
	"aipub.io/aipub/gpu"
)

// Remove deletes the spec of a slice. One that is not there is no error.
func (p *Publisher) Remove(id gpu.SliceID) error {
	p.mu.Lock()
	delete(p.edits, id)
	p.mu.Unlock()
	if err := p.cache.RemoveSpec(cdi.FileName(id)); err != nil {
		return fmt.Errorf("remove CDI spec of slice %s: %w", id, err)
	}
	return nil
}

// Sweep deletes the specs of slices that are not to be kept, and names them. A
// spec is kept for as long as its slice is in the layout or held: the runtime
// needs it to start the container anew.
func (p *Publisher) Sweep(keep func(gpu.SliceID) bool) ([]gpu.SliceID, error) {
	entries, err := os.ReadDir(p.dir)
	if err != nil {
		return nil, fmt.Errorf("list CDI specs: %w", err)
	}
	var removed []gpu.SliceID
	var errs []error
	for _, e := range entries {
		id, ours := cdi.SliceOf(e.Name())
		if !ours || keep(id) {
			continue
		}
		if err := p.Remove(id); err != nil {
			errs = append(errs, err)
			continue
		}
		removed = append(removed, id)
	}
	return removed, errors.Join(errs...)
}

// Withdraw deletes every spec of this project, for the end of its life on the
// node. Containers that run go on; none can be started with a slice any more.
func (p *Publisher) Withdraw() error {
	_, err := p.Sweep(func(gpu.SliceID) bool { return false })
	return errors.Join(err, p.cache.RemoveSpec(cdi.DriverFile))
}
