// SPDX-License-Identifier: Apache-2.0

package gpusim

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

// The test binary is also the other process of tests with several: it runs a
// child function instead of the tests when this variable names one.
const childVariable = "GPUSIM_TEST_CHILD"

var children = map[string]func(nvml.Interface) error{
	"fill":  childFill,
	"churn": childChurn,
	"cdi":   childCDI,
}

func TestMain(m *testing.M) {
	name := os.Getenv(childVariable)
	if name == "" {
		os.Exit(m.Run())
	}
	lib := nvml.New()
	err := error(nil)
	if r := lib.Init(); r != nvml.SUCCESS {
		err = fmt.Errorf("Init: %v", int32(r))
	} else {
		err = children[name](lib)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// child is a running child process that answers lines with lines.
type child struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Scanner
}

func startChild(t *testing.T, m *Machine, name string) *child {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(append(os.Environ(), m.Env()...), childVariable+"="+name)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return &child{cmd, in, bufio.NewScanner(out)}
}

func (c *child) say(t *testing.T, line string) {
	t.Helper()
	if _, err := fmt.Fprintln(c.in, line); err != nil {
		t.Fatal(err)
	}
}

func (c *child) hear(t *testing.T) string {
	t.Helper()
	if !c.out.Scan() {
		t.Fatalf("the child ended: %v", c.out.Err())
	}
	return c.out.Text()
}
