// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// measureMemory asks for a little less and for more than the slice has.
func measureMemory(ctx context.Context, m *machine) error {
	const limit = 4 << 30
	if err := m.divide(share{name: "a", permille: 250, lend: true, borrow: true, memory: limit}); err != nil {
		return err
	}
	fits, err := m.start(ctx, "a", "--alloc-mib", strconv.Itoa((limit-(1<<30))>>20), "--window-ms", "50")
	if err != nil {
		return err
	}
	if err := fits.ready(ctx); err != nil {
		return fmt.Errorf("what fits was refused: %w", err)
	}
	if err := fits.end(); err != nil {
		return err
	}
	over, err := m.start(ctx, "a", "--alloc-mib", strconv.Itoa(limit>>20), "--window-ms", "50")
	if err != nil {
		return err
	}
	ran := over.ready(ctx)
	refusal := over.end()
	overrun := 0.0
	if ran == nil {
		overrun = 1 << 30
	} else if refusal == nil || !strings.Contains(refusal.Error(), "OUT_OF_MEMORY") {
		fmt.Fprintf(os.Stderr, "  the refusal was not out-of-memory: %v\n", refusal)
	}
	m.print("sharer.real_memory_overrun_bytes", overrun, "bytes")
	return nil
}
