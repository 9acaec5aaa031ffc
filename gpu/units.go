// SPDX-License-Identifier: Apache-2.0

package gpu

// UnitsPerGPU is how many parts a GPU is counted in where shares of GPUs are added
// up. It is a multiple of 100 (blocks) and of every number of MIG slices up to 10,
// so that no share is rounded.
const UnitsPerGPU = 25200
