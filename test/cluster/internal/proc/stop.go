// SPDX-License-Identifier: Apache-2.0

package proc

import (
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

const poll = 20 * time.Millisecond

// Stop asks the process to end, and after grace ends it by force. A process
// that is already gone is no error. A grace of zero uses force at once.
func Stop(id Identity, grace time.Duration) error {
	if grace > 0 {
		if err := id.Signal(unix.SIGTERM); err != nil {
			return unlessGone(err)
		}
		if gone(id, grace) {
			return nil
		}
	}
	if err := id.Signal(unix.SIGKILL); err != nil {
		return unlessGone(err)
	}
	const force = 10 * time.Second
	if !gone(id, force) {
		return fmt.Errorf("kill process %d: still there after %s", id.PID, force)
	}
	return nil
}

func gone(id Identity, within time.Duration) bool {
	for deadline := time.Now().Add(within); time.Now().Before(deadline); time.Sleep(poll) {
		if !id.Alive() {
			return true
		}
	}
	return !id.Alive()
}

func unlessGone(err error) error {
	if errors.Is(err, ErrGone) {
		return nil
	}
	return err
}
