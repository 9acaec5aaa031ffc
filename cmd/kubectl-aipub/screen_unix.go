// SPDX-License-Identifier: Apache-2.0

//go:build unix

package main

import (
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// screenOf is the size of the terminal that w is, and whether it is one.
func screenOf(w io.Writer) (rows, columns int, ok bool) {
	f, isFile := w.(*os.File)
	if !isFile {
		return 0, 0, false
	}
	size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return 0, 0, false
	}
	return int(size.Row), int(size.Col), true
}
