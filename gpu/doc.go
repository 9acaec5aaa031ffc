// SPDX-License-Identifier: Apache-2.0

// Package gpu holds the nouns that every stage of the flow speaks: a GPU and
// what the hardware says about it, MIG profiles and placements, slices and the
// counters they draw on, and what is true of a slice at one moment.
//
// Nothing here does I/O, reads a clock or keeps state. Memory is counted in
// bytes, CPU in thousandths of a core, a block in hundredths of one GPU.
package gpu
