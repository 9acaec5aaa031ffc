// SPDX-License-Identifier: Apache-2.0

/*
 * The memory and the messages that the node agent (Go, sharer/wire) and the
 * preloaded library (C, sharer/shim) share. This header is the contract; the Go
 * twin is held against it by a test that compiles a C program.
 *
 * Every slice has a directory that its container sees below AIPUB_SLICES_DIR:
 *
 *   grant   read-only in the container. What the agent allows: limits, and the
 *           lease on the GPU's time.
 *   page    writable in the container. What its processes say of themselves: a
 *           slot each, with the memory that they account for. The agent reads it
 *           with suspicion and never takes a limit from it.
 *   socket  SOCK_SEQPACKET, one struct aipub_msg a packet. A process keeps one
 *           connection for each slice.
 *
 * Times are nanoseconds of CLOCK_MONOTONIC. Integers are in host order. Words
 * that change are read and written with atomics of their own size. All of it is
 * little: a process that dies between any two stores leaves its own slot behind
 * and nothing else.
 */
#ifndef AIPUB_WIRE_H
#define AIPUB_WIRE_H

#include <stddef.h>
#include <stdint.h>

#define AIPUB_SLICES_DIR "/run/aipub/slices"
#define AIPUB_GRANT_FILE "grant"
#define AIPUB_PAGE_FILE "page"
#define AIPUB_SOCKET_FILE "socket"

#define AIPUB_GRANT_MAGIC UINT64_C(0x31746e6172476941) /* "AiGrant1" */
#define AIPUB_PAGE_MAGIC UINT64_C(0x3165676150476941)  /* "AiGPage1" */

/* The layout's version. A process that finds another one must refuse to use the
 * GPU; an agent leaves such a slice alone and reports it. */
#define AIPUB_LAYOUT 1u

/* aipub_grant.flags */
enum {
  AIPUB_HAS_MEMORY = 1u << 0,  /* memory_bytes binds; without it memory is not limited */
  AIPUB_HAS_COMPUTE = 1u << 1, /* launches need a lease; without it they do not */
  AIPUB_LEND = 1u << 2,        /* others may use what is idle of this slice */
  AIPUB_BORROW = 1u << 3,      /* this slice may use what others leave idle */
  AIPUB_REVOCABLE = 1u << 4,   /* memory_bytes may be above guaranteed_bytes, and fall */
};

/* aipub_grant.lease_kind */
enum {
  AIPUB_LEASE_NONE = 0,
  AIPUB_LEASE_OWN = 1,      /* within the slice's guarantee */
  AIPUB_LEASE_BORROWED = 2, /* lent by others; recalled when they want it */
};

/* aipub_grant.reclaim: what the agent asks the processes to do, strongest last. */
enum {
  AIPUB_RECLAIM_NONE = 0,
  AIPUB_RECLAIM_REFUSE = 1, /* allocate nothing beyond memory_bytes; what is there stays */
  AIPUB_RECLAIM_TRIM = 2,   /* give back what pools hold in reserve */
  AIPUB_RECLAIM_DEMOTE = 3, /* move managed memory to the host */
};

/* The agent's word. One writer, the agent. */
struct aipub_grant {
  uint64_t magic;
  uint32_t layout;
  uint32_t size; /* sizeof(struct aipub_grant) */
  uint8_t gpu_uuid[16]; /* as cuDeviceGetUuid gives it */
  char slice[64];       /* ID, NUL-terminated */
  char gpu_name[64];    /* "GPU-xxxxxxxx-…", NUL-terminated, as NVML gives it */

  uint32_t flags;
  uint32_t guarantee_permille; /* of the GPU's time */
  uint32_t max_permille;       /* the most with what is borrowed; ≥ guarantee_permille */
  uint32_t reclaim;
  uint64_t memory_bytes;     /* the most that the slice's processes may have now */
  uint64_t guaranteed_bytes; /* of which nobody takes anything back */
  uint64_t context_bytes;    /* what one context costs on this GPU and driver */
  uint64_t window_ns;        /* predicted GPU time that may be in flight under a lease */
  uint64_t linger_ns;        /* idle for so long under a lease: give it back */

  /* While the agent is silent the slice has the GPU from offset_ns for length_ns
   * in each period_ns of CLOCK_MONOTONIC, and nothing else. Slices of one GPU do
   * not overlap. */
  uint64_t stale_ns; /* a heartbeat older than this means silent */
  uint64_t period_ns;
  uint64_t offset_ns;
  uint64_t length_ns;

  /* The lease. turn is a futex: it is increased and woken after every change of
   * the words beside it, so a reader that saw the same turn before and after has
   * a consistent picture. until_ns grows without a new turn when a lease is
   * extended. */
  uint8_t pad0[256 - 248];
  uint32_t turn;
  uint32_t lease_kind;
  uint64_t until_ns; /* 0: no lease */
  uint64_t heartbeat_ns;
  /* Until then memory within the guarantee is on its way back from borrowers: an
   * allocation of this slice that the driver refused is worth another try. */
  uint64_t coming_ns;
  uint8_t pad1[320 - 288];
};

/* One process. Written by that process; the agent clears it when the process is
 * dead, and may write overhead_bytes. A slot is taken by a compare-and-swap of
 * owner from 0, the lowest free one first. */
struct aipub_slot {
  uint64_t owner;         /* pid in the container's namespace, 0: free */
  uint64_t start_time;    /* field 22 of /proc/self/stat, clock ticks since boot */
  uint8_t build_id[20];   /* of the library */
  uint32_t driver_version; /* cuDriverGetVersion, 0 before it is known */
  uint32_t hooks;          /* symbols in the library's table */
  uint32_t found;          /* of which this driver has so many */
  uint32_t unknown;        /* driver symbols asked for that the table lacks */
  uint32_t problems;       /* AIPUB_PROBLEM_… */

  uint8_t pad0[64 - 56];
  /* The ledger, in bytes of device memory on the slice's GPU. */
  uint64_t committed_bytes; /* allocated */
  uint64_t pending_bytes;   /* announced, the driver's answer is not known yet */
  uint64_t overhead_bytes;  /* contexts and code */
  uint64_t managed_bytes;   /* of committed_bytes, can be demoted */
  uint64_t host_bytes;      /* pinned on the host; counted, not limited */
  uint64_t peak_bytes;
  uint64_t refused;         /* allocations refused for the slice's limit */

  uint8_t pad1[128 - 120];
  /* Work. Counters only grow. */
  uint64_t launches;
  uint64_t busy_ns;    /* GPU time used, as measured by completion */
  uint64_t waited_ns;  /* time that launches waited for a lease */
  uint64_t waits;      /* launches that waited */
  uint64_t longest_ns; /* longest single command measured */
  uint64_t done_ns;    /* when the last command was seen complete */
  uint32_t waiting;    /* threads that wait for a lease now */
  uint32_t inflight;   /* commands issued and not seen complete, 0 when idle */
  uint32_t busy_turn;  /* the turn under which work is in flight, or about to be; 0 none.
                          Stored before the grant's turn is read once more: a process
                          that sees another turn then issues nothing, and the agent,
                          who changes the turn before it reads this, misses nobody. */
  uint8_t pad2[256 - 188];
};

/* aipub_slot.problems */
enum {
  AIPUB_PROBLEM_EXPORT_TABLE = 1u << 0, /* cuGetExportTable was used */
  AIPUB_PROBLEM_TOOL = 1u << 1,         /* a profiler or sanitizer is attached; its times include waits for a lease */
  AIPUB_PROBLEM_UNGATED = 1u << 2,      /* device-side launches, which cannot be held back */
};

#define AIPUB_SLOTS 512u

struct aipub_page {
  uint64_t magic;
  uint32_t layout;
  uint32_t size;  /* sizeof(struct aipub_page) */
  uint32_t slots; /* AIPUB_SLOTS */
  uint32_t slot_size;
  uint32_t used; /* slots below this index have been taken at some time; only grows */
  uint8_t pad[4096 - 28];
  struct aipub_slot slot[AIPUB_SLOTS];
};

/* aipub_msg.type. H: sent by a process, A: sent by the agent. */
enum {
  AIPUB_HELLO = 1,   /* H: slot, a = owner, b = start_time. Must be the first. */
  AIPUB_WELCOME = 2, /* A: slot */
  AIPUB_REFUSED = 3, /* A: a = AIPUB_REFUSED_…; the agent closes the connection */
  AIPUB_WANT = 4,    /* H: work waits for a lease */
  AIPUB_CLOSING = 5, /* H: turn; the gate is shut; a = when the work in flight will be done */
  AIPUB_DRAINED = 6, /* H: turn; nothing of this process is in flight under it;
                        a = its GPU time under this lease in ns, b = 1 when work waits */
  AIPUB_SHORT = 7,   /* H: a = bytes that the driver refused, within the guarantee, and that
                        are waited for; said again every second or sooner; 0: no longer */
};

enum {
  AIPUB_REFUSED_LAYOUT = 1,   /* another layout */
  AIPUB_REFUSED_IDENTITY = 2, /* the peer is not the process that it names */
  AIPUB_REFUSED_FULL = 3,     /* no slot */
};

struct aipub_msg {
  uint32_t type;
  uint32_t slot;
  uint32_t turn;
  uint32_t layout; /* AIPUB_LAYOUT */
  uint64_t a;
  uint64_t b;
};

#define AIPUB_AT(type, field, at) _Static_assert(offsetof(type, field) == (at), #type "." #field)
AIPUB_AT(struct aipub_grant, flags, 160);
AIPUB_AT(struct aipub_grant, memory_bytes, 176);
AIPUB_AT(struct aipub_grant, stale_ns, 216);
AIPUB_AT(struct aipub_grant, turn, 256);
AIPUB_AT(struct aipub_grant, until_ns, 264);
AIPUB_AT(struct aipub_grant, coming_ns, 280);
AIPUB_AT(struct aipub_slot, committed_bytes, 64);
AIPUB_AT(struct aipub_slot, launches, 128);
AIPUB_AT(struct aipub_page, slot, 4096);
_Static_assert(sizeof(struct aipub_grant) == 320, "aipub_grant");
_Static_assert(sizeof(struct aipub_slot) == 256, "aipub_slot");
_Static_assert(sizeof(struct aipub_page) == 4096 + 256 * AIPUB_SLOTS, "aipub_page");
_Static_assert(sizeof(struct aipub_msg) == 32, "aipub_msg");
#undef AIPUB_AT

#endif
