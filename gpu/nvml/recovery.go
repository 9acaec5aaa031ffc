// SPDX-License-Identifier: Apache-2.0

package nvml

import (
	"encoding/binary"

	gonvml "github.com/NVIDIA/go-nvml/pkg/nvml"
)

// recovery is what the driver says must be done to a GPU.
type recovery struct {
	// known is false where the driver does not tell.
	known  bool
	action gonvml.DeviceGpuRecoveryAction
}

// needed reports whether the driver asks for something.
func (r recovery) needed() bool {
	return r.known && r.action != gonvml.GPU_RECOVERY_ACTION_NONE
}

// clear reports whether the driver says that nothing is needed.
func (r recovery) clear() bool {
	return r.known && r.action == gonvml.GPU_RECOVERY_ACTION_NONE
}

// recoveryText is one action as a reason and as advice.
type recoveryText struct{ reason, advice string }

var recoveryTexts = map[gonvml.DeviceGpuRecoveryAction]recoveryText{
	gonvml.GPU_RECOVERY_ACTION_GPU_RESET:           {"GPUResetRequired", "stop its users, then reset the GPU"},
	gonvml.GPU_RECOVERY_ACTION_NODE_REBOOT:         {"RebootRequired", "drain the node, then reboot it"},
	gonvml.GPU_RECOVERY_ACTION_DRAIN_P2P:           {"P2PDrainRequired", "stop the jobs that use peer-to-peer transfers on it"},
	gonvml.GPU_RECOVERY_ACTION_DRAIN_AND_RESET:     {"DrainAndResetRequired", "let its users end, then reset the GPU"},
	gonvml.GPU_RECOVERY_ACTION_RECOVER_IMEX_DOMAIN: {"IMEXRecoveryRequired", "recover the IMEX domain"},
	gonvml.GPU_RECOVERY_ACTION_BUS_RESET:           {"BusResetRequired", "drain the node, then reset the GPU's PCIe bus"},
	gonvml.GPU_RECOVERY_ACTION_SYSTEM_REBOOT:       {"RebootRequired", "drain the node, then reboot it"},
}

// text describes a needed action.
func (r recovery) text() recoveryText {
	if t, ok := recoveryTexts[r.action]; ok {
		return t
	}
	return recoveryText{"RecoveryRequired", "see the driver's log"}
}

// readRecovery asks the driver for the recovery action. ret is an error of the
// device itself, such as GPU_IS_LOST; a driver without the field is no error.
func readRecovery(dev gonvml.Device) (recovery, gonvml.Return) {
	fields := []gonvml.FieldValue{{FieldId: gonvml.FI_DEV_GET_GPU_RECOVERY_ACTION}}
	ret := dev.GetFieldValues(fields)
	if unsupported(ret) || ret == gonvml.ERROR_INVALID_ARGUMENT {
		return recovery{}, gonvml.SUCCESS
	}
	if ret != gonvml.SUCCESS {
		return recovery{}, ret
	}
	switch field := gonvml.Return(fields[0].NvmlReturn); field {
	case gonvml.SUCCESS:
		value := binary.NativeEndian.Uint32(fields[0].Value[:4])
		return recovery{known: true, action: gonvml.DeviceGpuRecoveryAction(value)}, gonvml.SUCCESS
	case gonvml.ERROR_GPU_IS_LOST:
		return recovery{}, field
	default:
		return recovery{}, gonvml.SUCCESS
	}
}
