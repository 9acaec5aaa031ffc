// SPDX-License-Identifier: Apache-2.0
//
// What processes pass to each other: through file descriptors (memory files
// that hold a ticket) or as 64 bytes. Who takes something uses the memory of
// the process that made it and is not charged.
#ifndef GPUSIM_CU_SHARE_H
#define GPUSIM_CU_SHARE_H

#include "cu.h"

enum cu_ticket_kind { CU_TICKET_MEMORY = 1, CU_TICKET_POOL, CU_TICKET_POINTER, CU_TICKET_IPC };

struct cu_ticket {
    uint32_t kind, client, generation, device;
    uint64_t size, base;
};

struct cu_ticket cu_ticket_new(enum cu_ticket_kind kind, int device, uint64_t size, uint64_t base);

// cu_ticket_valid: its maker is alive and it is of this kind.
bool cu_ticket_valid(const struct cu_ticket *t, enum cu_ticket_kind kind);

int cu_ticket_to_fd(const struct cu_ticket *t); // -1: no descriptor left
bool cu_ticket_from_fd(struct cu_ticket *t, int fd);

#endif
