// SPDX-License-Identifier: Apache-2.0

// Package lock lets one process at a time do a thing. The kernel drops a lock when its holder ends.
package lock

import (
	"errors"
	"fmt"
	"os"

	"aipub.io/aipub/test/cluster/internal/progress"
	"golang.org/x/sys/unix"
)

// Lock is held until Release or the end of the process.
type Lock struct{ file *os.File }

// Take locks the file at path, which it makes where it is missing, and waits,
// saying so, as long as another process holds it.
func Take(path string, report progress.Reporter) (Lock, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return Lock{}, fmt.Errorf("open lock: %w", err)
	}
	err = flock(file, unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		step := report.Step("waiting for another run to finish", "it holds "+path)
		err = step.End(flock(file, unix.LOCK_EX))
	}
	if err != nil {
		file.Close()
		return Lock{}, fmt.Errorf("take lock %s: %w", path, err)
	}
	return Lock{file}, nil
}

// Release lets the next one in.
func (l Lock) Release() error { return l.file.Close() }

func flock(file *os.File, how int) error {
	for {
		if err := unix.Flock(int(file.Fd()), how); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
