// SPDX-License-Identifier: Apache-2.0

package mig

import "github.com/NVIDIA/go-nvml/pkg/nvml"

// setMode switches MIG mode and makes sure that it holds now. The call can
// succeed while the activation does not: both answers count, and the mode is
// read back. Device attributes such as the minor number may change with it.
func setMode(dev nvml.Device, uuid string, enable bool) error {
	mode := nvml.DEVICE_MIG_DISABLE
	if enable {
		mode = nvml.DEVICE_MIG_ENABLE
	}
	current, pending, ret := dev.GetMigMode()
	if err := verb("read MIG mode", ret); err != nil {
		return err
	}
	if current == mode && pending == mode {
		return nil
	}
	activation, ret := dev.SetMigMode(mode)
	if ret == nvml.ERROR_IN_USE || ret == nvml.SUCCESS && activation == nvml.ERROR_IN_USE {
		return &InUseError{GPU: uuid, What: "MIG mode"}
	}
	if err := verb("set MIG mode "+onOff(enable), ret); err != nil {
		return err
	}
	if activation != nvml.SUCCESS && activation != nvml.ERROR_RESET_REQUIRED {
		return verb("activate MIG mode "+onOff(enable), activation)
	}
	current, _, ret = dev.GetMigMode()
	if err := verb("read MIG mode back", ret); err != nil {
		return err
	}
	if current != mode {
		return &ResetRequiredError{GPU: uuid, Enable: enable, Status: activation}
	}
	return nil
}
