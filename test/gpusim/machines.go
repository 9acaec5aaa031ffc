// SPDX-License-Identifier: Apache-2.0

package gpusim

import _ "embed"

// Descriptions of machines for [New].
var (
	//go:embed machines/three-h200.conf
	ThreeH200 string // three H200 on two NUMA nodes
	//go:embed machines/sixteen-a100-80.conf
	SixteenA100 string // sixteen A100-80 on two NUMA nodes
	//go:embed machines/mixed.conf
	Mixed string // A30, A100-40, A100-80, H100, H200, B200
	//go:embed machines/no-mig.conf
	NoMIG string // two T4 and one L40S
)
