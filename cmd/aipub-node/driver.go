// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
)

// hasNVIDIA reports whether the PCI bus has a display or 3D controller of
// NVIDIA's (vendor 10de, class 03).
func hasNVIDIA(sys string) bool {
	devices, err := filepath.Glob(filepath.Join(sys, "bus/pci/devices/*"))
	if err != nil {
		return true
	}
	for _, d := range devices {
		vendor, _ := os.ReadFile(filepath.Join(d, "vendor"))
		class, _ := os.ReadFile(filepath.Join(d, "class"))
		if len(vendor) >= 6 && string(vendor[:6]) == "0x10de" && len(class) >= 4 && string(class[:4]) == "0x03" {
			return true
		}
	}
	return false
}

// library is the path of NVML: the one that was given, or the one below the
// driver root, or empty for the dynamic loader's.
func library(given, mount string) string {
	if given != "" {
		return given
	}
	for _, dir := range []string{"usr/lib/x86_64-linux-gnu", "usr/lib/aarch64-linux-gnu", "usr/lib64", "usr/lib", "lib64", "run/nvidia/driver/usr/lib/x86_64-linux-gnu"} {
		path := filepath.Join(mount, dir, "libnvidia-ml.so.1")
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	return ""
}
