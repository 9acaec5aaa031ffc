// SPDX-License-Identifier: Apache-2.0

package host

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// BootID reads the kernel's random identity of this boot below proc (usually
// "/proc"). It differs after every reboot.
func BootID(proc string) (string, error) {
	data, err := os.ReadFile(filepath.Join(proc, "sys/kernel/random/boot_id"))
	if err != nil {
		return "", fmt.Errorf("read boot ID: %w", err)
	}
	return strings.TrimSpace(string(data)), nil
}
