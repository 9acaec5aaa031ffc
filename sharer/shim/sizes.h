// SPDX-License-Identifier: Apache-2.0
//
// How much device memory a request takes, never less than what the driver takes.
#ifndef AIPUB_SIZES_H
#define AIPUB_SIZES_H

#include <stdbool.h>
#include <stdint.h>

#include "cuda_min.h"

// sizes_pitched returns bytes for height rows of width bytes; rows begin at
// multiples of 512.
uint64_t sizes_pitched(uint64_t width, uint64_t height);

// sizes_array returns bytes of an array; 0 for a dimension that it does not have.
uint64_t sizes_array(uint64_t width, uint64_t height, uint64_t depth, int format, unsigned channels);

// sizes_mipmap returns bytes of all levels together.
uint64_t sizes_mipmap(const CUDA_ARRAY3D_DESCRIPTOR *d, unsigned levels);

// sizes_unbacked says whether an array with these flags has no memory of its own:
// it is mapped later, from memory that is charged where it is created.
bool sizes_unbacked(unsigned flags);

// sizes_image returns bytes of a module image, 0 when that cannot be told: a fat
// binary holds code for many GPUs of which little is loaded, and that late.
uint64_t sizes_image(const void *image);

// sizes_file returns bytes of a module's file, 0 like sizes_image.
uint64_t sizes_file(const char *path);

#endif
