// SPDX-License-Identifier: Apache-2.0
//
// Module images for programs that run on the simulated CUDA driver: text that
// says how long each kernel keeps the GPU busy, for cuModuleLoadData and
// cuLibraryLoadData. One line each, after the first:
//
//   kernel NAME us=N        every launch takes N microseconds (0: the least, 1)
//   kernel NAME us=paramN   as long as kernel parameter N, an uint64, says
//   code MIB                the code takes so much device memory
//
// PTX text is taken too: its entries can be launched; `busy` takes what its
// first parameter says in microseconds, all others take 10.
#ifndef GPUSIM_MODULE_H
#define GPUSIM_MODULE_H

#define GPUSIM_MODULE             \
    "gpusim-module 1\n"           \
    "kernel busy us=param0\n"     \
    "kernel tick us=50\n"         \
    "kernel noop us=0\n"

#endif
