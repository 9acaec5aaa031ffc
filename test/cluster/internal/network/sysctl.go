// SPDX-License-Identifier: Apache-2.0

package network

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// wanted maps kernel settings to what the cluster needs. Those with "" are
// changed by the kubelet itself and only remembered.
func wanted() map[string]string {
	return map[string]string{
		"net/ipv4/ip_forward":                "1",
		"net/bridge/bridge-nf-call-iptables": "1", // replies between pods of the bridge pass the Services' address translation
		"vm/overcommit_memory":               "",
		"vm/panic_on_oom":                    "",
		"kernel/panic":                       "",
		"kernel/panic_on_oops":               "",
		"kernel/keys/root_maxkeys":           "",
		"kernel/keys/root_maxbytes":          "",
	}
}

// setSysctls sets what is wanted, after recording the former values in the file
// unless an earlier call, not undone since, did so.
func setSysctls(record string) error {
	if _, err := os.Stat(record); errors.Is(err, os.ErrNotExist) {
		if err := saveSysctls(record); err != nil {
			return err
		}
	}
	for name, value := range wanted() {
		if value == "" {
			continue
		}
		err := os.WriteFile(sysctlPath(name), []byte(value), 0)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("set kernel setting: %w", err)
		}
	}
	return nil
}

func saveSysctls(record string) error {
	former := map[string]string{}
	for name := range wanted() {
		if raw, err := os.ReadFile(sysctlPath(name)); err == nil {
			former[name] = strings.TrimSpace(string(raw))
		}
	}
	raw, err := json.MarshalIndent(former, "", "  ")
	if err != nil {
		return fmt.Errorf("record kernel settings: %w", err)
	}
	if err := os.WriteFile(record, raw, 0o644); err != nil {
		return fmt.Errorf("record kernel settings: %w", err)
	}
	return nil
}

// restoreSysctls puts the recorded values back. No record, nothing to do.
func restoreSysctls(record string) error {
	raw, err := os.ReadFile(record)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("restore kernel settings: %w", err)
	}
	former := map[string]string{}
	if err := json.Unmarshal(raw, &former); err != nil {
		return fmt.Errorf("restore kernel settings: %w", err)
	}
	var errs []error
	for name, value := range former {
		if err := os.WriteFile(sysctlPath(name), []byte(value), 0); err != nil {
			errs = append(errs, fmt.Errorf("restore kernel setting: %w", err))
		}
	}
	return errors.Join(errs...)
}

func sysctlPath(name string) string { return filepath.Join("/proc/sys", name) }
