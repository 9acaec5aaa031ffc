// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package main

import "io"

// screenOf knows no terminals here, so commands print once.
func screenOf(io.Writer) (rows, columns int, ok bool) { return 0, 0, false }
