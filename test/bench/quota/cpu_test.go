// SPDX-License-Identifier: Apache-2.0

package quota_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// effort is the processor time of the programs that this one runs, by name.
type effort map[string]time.Duration

// spent is what they have had so far.
func spent() effort {
	out := effort{}
	files, _ := filepath.Glob("/proc/[0-9]*/stat") // the pattern is well formed
	for _, file := range files {
		if name, parent, used, ok := readStat(file); ok && parent == os.Getpid() {
			out[name] += used
		}
	}
	return out
}

// readStat reads what proc(5) says of a process: its name in brackets, which may hold
// anything, then its state and parent; user and system time are the 12th and 13th
// after the name, in hundredths of a second.
func readStat(file string) (name string, parent int, used time.Duration, ok bool) {
	text, err := os.ReadFile(file)
	if err != nil {
		return "", 0, 0, false
	}
	left, right := strings.IndexByte(string(text), '('), strings.LastIndexByte(string(text), ')')
	fields := strings.Fields(string(text[right+1:]))
	if left < 0 || len(fields) < 13 {
		return "", 0, 0, false
	}
	var numbers [3]int
	for i, at := range []int{1, 11, 12} {
		if numbers[i], err = strconv.Atoi(fields[at]); err != nil {
			return "", 0, 0, false
		}
	}
	return string(text[left+1 : right]), numbers[0], time.Duration(numbers[1]+numbers[2]) * 10 * time.Millisecond, true
}

// since says what was spent since then, for each of n things.
func (e effort) since(before effort, n float64) string {
	var parts []string
	total := time.Duration(0)
	for name, used := range e {
		used -= before[name]
		total += used
		parts = append(parts, fmt.Sprintf("%s %.2f", name, float64(used.Milliseconds())/n))
	}
	slices.Sort(parts)
	return fmt.Sprintf("processor time in ms for each: %s; together %.2f", strings.Join(parts, ", "), float64(total.Milliseconds())/n)
}
