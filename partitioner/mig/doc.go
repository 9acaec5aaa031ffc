// SPDX-License-Identifier: Apache-2.0

// Package mig carries out the steps of a plan on the hardware: it switches MIG
// mode, and creates and destroys instances at the places that the plan names.
//
// Each step is done under the GPU's lock and is whole or not at all: a GPU
// instance whose compute instance cannot be made is taken back. Only when the
// context ends in the middle of a step is its outcome unknown; the caller then
// reads the instances again and plans anew, as it does after any error.
package mig
