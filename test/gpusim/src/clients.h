// SPDX-License-Identifier: Apache-2.0
//
// CUDA clients: processes whose life is a lock on one byte of the machine's
// file `clients`. The kernel drops the lock when the process is gone, SIGKILL
// included, and tells a holder's pid in the namespace of whoever asks.
#ifndef GPUSIM_CLIENTS_H
#define GPUSIM_CLIENTS_H

#include <stdbool.h>

#include "machine.h"

// gs_clients_open returns the file of this machine. Closing any descriptor of
// the file would drop all locks of the process (POSIX), so each process opens
// it once and never closes it. -1 when it cannot be opened.
int gs_clients_open(const char *dir);

// gs_client_attach makes this process a client and returns its index, -1 when
// there is no room. Needs the lock.
int gs_client_attach(struct gs_machine *m);
void gs_client_detach(struct gs_machine *m, uint32_t client);

// gs_client_pid is the client's pid as this process sees it, 0 if it is gone.
uint32_t gs_client_pid(const struct gs_machine *m, uint32_t client);

// gs_clients_reap frees what clients that are gone have held: contexts, queues,
// events, process table entries. Returns how many there were. Needs the lock.
int gs_clients_reap(struct gs_machine *m);

#endif
