// SPDX-License-Identifier: Apache-2.0

package attach

import (
	"bytes"
	"fmt"
	"strings"
)

// HasMount reports whether a process sees something mounted at dir or below it: a
// container that was made with the limiter has its slices' folders there.
func (p *Proc) HasMount(pid int, dir string) (bool, error) {
	text, err := p.fs.Read(pid, "mountinfo")
	if err != nil {
		return false, fmt.Errorf("read mounts of process %d: %w", pid, err)
	}
	dir = strings.TrimSuffix(dir, "/")
	for line := range bytes.Lines(text) {
		// id parent dev root mount-point ...; proc(5). Only blanks and backslashes are
		// written otherwise.
		fields := bytes.Fields(line)
		if len(fields) < 5 {
			continue
		}
		if at := string(fields[4]); at == dir || strings.HasPrefix(at, dir+"/") {
			return true, nil
		}
	}
	return false, nil
}
