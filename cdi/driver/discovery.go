// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/NVIDIA/nvidia-container-toolkit/pkg/nvcdi"
)

// Discovery are the options for Config.Toolkit with which the container toolkit
// looks for the driver's files through an open NVML library.
func Discovery(lib nvml.Interface) []nvcdi.Option {
	return []nvcdi.Option{nvcdi.WithNvmlLib(lib)}
}
