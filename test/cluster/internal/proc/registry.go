// SPDX-License-Identifier: Apache-2.0

package proc

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"aipub.io/aipub/test/cluster/internal/replace"
)

// Spec says how to run one long-lived process.
type Spec struct {
	Name string
	Args []string // Args[0] is the program's path
	Env  []string // in addition to the caller's environment
	Log  string   // receives stdout and stderr, appended
}

// Registry remembers, as one file per name in Dir, which processes were started.
type Registry struct{ Dir string }

// Start runs the process in a session of its own, so that it outlives the caller,
// and records it. If the recorded one is still running, nothing happens.
func (r Registry) Start(spec Spec) error {
	if id, err := r.Running(spec.Name); err == nil && id.Alive() {
		return nil
	}
	log, err := os.OpenFile(spec.Log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return fmt.Errorf("open log of %s: %w", spec.Name, err)
	}
	defer log.Close()
	fmt.Fprintf(log, "--- %s starts at %s\n", spec.Name, time.Now().Format(time.RFC3339))
	cmd := exec.Command(spec.Args[0], spec.Args[1:]...)
	cmd.Env = append(os.Environ(), spec.Env...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", spec.Name, err)
	}
	go cmd.Wait() // reaps it if it ends while the caller still runs
	id, err := Of(cmd.Process.Pid)
	if err != nil {
		return fmt.Errorf("start %s: ended at once, see %s", spec.Name, spec.Log)
	}
	return r.record(spec.Name, id)
}

// Running returns the recorded process of this name; ErrGone if none is recorded or it has ended.
func (r Registry) Running(name string) (Identity, error) {
	raw, err := os.ReadFile(r.file(name))
	if errors.Is(err, os.ErrNotExist) {
		return Identity{}, ErrGone
	}
	if err != nil {
		return Identity{}, fmt.Errorf("read record of %s: %w", name, err)
	}
	var id Identity
	if err := json.Unmarshal(raw, &id); err != nil {
		return Identity{}, fmt.Errorf("read record of %s: %w", name, err)
	}
	if !id.Alive() {
		return id, ErrGone
	}
	return id, nil
}

// Stop ends the recorded process, if it still runs, and forgets it.
func (r Registry) Stop(name string, grace time.Duration) error {
	id, err := r.Running(name)
	if err != nil && !errors.Is(err, ErrGone) {
		return err
	}
	if err == nil {
		if err := Stop(id, grace); err != nil {
			return fmt.Errorf("stop %s: %w", name, err)
		}
	}
	if err := os.Remove(r.file(name)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("forget %s: %w", name, err)
	}
	return nil
}

func (r Registry) record(name string, id Identity) error {
	raw, err := json.Marshal(id)
	if err != nil {
		return fmt.Errorf("record %s: %w", name, err)
	}
	return replace.File(r.file(name), raw, 0o644)
}

func (r Registry) file(name string) string { return filepath.Join(r.Dir, name+".json") }
