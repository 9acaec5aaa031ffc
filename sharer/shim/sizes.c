// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "sizes.h"

#include <elf.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static uint64_t times(uint64_t a, uint64_t b) {
    uint64_t product;
    return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

uint64_t sizes_pitched(uint64_t width, uint64_t height) {
    return width > UINT64_MAX - 511 ? UINT64_MAX : times((width + 511) & ~UINT64_C(511), height);
}

// CUarray_format: 8, 16 and 32 bits, signed, unsigned and float. Others are
// counted as 32 bits a channel, which none of them exceeds.
static unsigned format_bytes(int format) {
    switch (format) {
    case 0x01:
    case 0x08: return 1;
    case 0x02:
    case 0x09:
    case 0x10: return 2;
    default: return 4;
    }
}

uint64_t sizes_array(uint64_t width, uint64_t height, uint64_t depth, int format, unsigned channels) {
    uint64_t row = times(width, (uint64_t)format_bytes(format) * (channels ? channels : 1));
    return sizes_pitched(row, times(height ? height : 1, depth ? depth : 1));
}

uint64_t sizes_mipmap(const CUDA_ARRAY3D_DESCRIPTOR *d, unsigned levels) {
    uint64_t width = d->Width, height = d->Height, sum = 0;
    for (unsigned level = 0; level < levels && level < 64; level++) {
        uint64_t bytes = sizes_array(width, height, d->Depth, d->Format, d->NumChannels);
        sum = bytes > UINT64_MAX - sum ? UINT64_MAX : sum + bytes;
        if (width <= 1 && height <= 1) break;
        width = width > 1 ? width / 2 : width;
        height = height > 1 ? height / 2 : height;
    }
    return sum;
}

bool sizes_unbacked(unsigned flags) {
    return (flags & (CUDA_ARRAY3D_SPARSE | CUDA_ARRAY3D_DEFERRED_MAPPING)) != 0;
}

uint64_t sizes_image(const void *image) {
    const unsigned char *at = image;
    if (!image) return 0;
    if (memcmp(at, ELFMAG, SELFMAG) == 0) {
        const Elf64_Ehdr *elf = image;
        return elf->e_shoff + (uint64_t)elf->e_shnum * elf->e_shentsize;
    }
    bool is_text = at[0] == '\n' || at[0] == '\t' || (at[0] >= ' ' && at[0] < 0x7f && at[1] >= '\t' && at[1] < 0x7f);
    return is_text && at[1] < 0x7f ? strlen(image) : 0;
}

uint64_t sizes_file(const char *path) {
    unsigned char magic[SELFMAG] = {0};
    int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (fd < 0) return 0;
    bool is_elf = read(fd, magic, sizeof magic) == sizeof magic && memcmp(magic, ELFMAG, SELFMAG) == 0;
    off_t bytes = lseek(fd, 0, SEEK_END);
    close(fd);
    return is_elf && bytes > 0 ? (uint64_t)bytes : 0;
}
