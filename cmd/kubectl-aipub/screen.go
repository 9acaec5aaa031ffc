// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Control sequences that all terminals know.
const (
	clearScreen = "\x1b[2J"
	cursorHome  = "\x1b[H"
	clearLine   = "\x1b[K" // from the cursor to the end of the line
	clearRest   = "\x1b[J" // from the cursor to the end of the screen
)

// frame is what draws text over the text before without flicker: each line
// clears what it leaves of the old one. Lines longer than the terminal wrap;
// lines that find no place are counted in the last one. A terminal of unknown
// size, 0 by 0, gets all.
func frame(text string, rows, columns int) string {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	var b strings.Builder
	b.WriteString(cursorHome)
	free := rows - 1 // the cursor's line
	for i, line := range lines {
		need := 1
		if columns > 0 {
			need = max(1, (utf8.RuneCountInString(line)+columns-1)/columns)
		}
		last := i == len(lines)-1
		if rows > 0 && (need > free || need == free && !last) {
			fmt.Fprintf(&b, "… %s more; name nodes, give -n, or enlarge the terminal%s\n", plural(len(lines)-i, "line"), clearLine)
			break
		}
		free -= need
		b.WriteString(line + clearLine + "\n")
	}
	b.WriteString(clearRest)
	return b.String()
}
