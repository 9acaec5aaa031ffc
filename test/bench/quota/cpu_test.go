// SPDX-License-Identifier: Apache-2.0

package quota_test

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// used is the processor time that a replica has had; 0 where it cannot be read.
func used(r *replica) time.Duration {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", r.process.Process.Pid))
	if err != nil {
		return 0
	}
	// After the name, which may hold anything: state, …, utime and stime as the 12th
	// and 13th, in hundredths of a second (proc(5)).
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	if len(fields) < 13 {
		return 0
	}
	var ticks int
	for _, f := range fields[11:13] {
		n, err := strconv.Atoi(f)
		if err != nil {
			return 0
		}
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond
}
