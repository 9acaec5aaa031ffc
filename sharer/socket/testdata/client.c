// SPDX-License-Identifier: Apache-2.0

/*
 * A process of a slice for the tests, without CUDA: it does the steps of the
 * protocol that it reads from its standard input, one a line, and answers each
 * with one line. Usage: client DIRECTORY [FILE]
 *
 * FILE has two words that clients of several slices share: how many are at work
 * now, and how often one came to work and found another there.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "wire.h"

static volatile struct aipub_grant *grant;
static struct aipub_page *page;
static struct aipub_slot *slot;
static char dir[96];
static int conn = -1;
static uint32_t index_of_slot;
static uint32_t alone[2], *at_work = alone; /* at work now; found another there */

#define load(p) __atomic_load_n((p), __ATOMIC_SEQ_CST)
#define store(p, v) __atomic_store_n((p), (v), __ATOMIC_SEQ_CST)

static uint64_t now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void *map(const char *name, size_t size, int writable) {
  char path[128];
  snprintf(path, sizeof path, "%s%s", *name == '/' ? "" : dir, name);
  int fd = open(path, writable ? O_RDWR : O_RDONLY);
  void *p = mmap(NULL, size, writable ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED, fd, 0);
  if (fd < 0 || p == MAP_FAILED) {
    perror(path);
    exit(1);
  }
  close(fd);
  return p;
}

static uint64_t start_time(void) {
  char text[4096];
  FILE *f = fopen("/proc/self/stat", "r");
  size_t n = fread(text, 1, sizeof text - 1, f);
  fclose(f);
  text[n] = 0;
  char *at = strrchr(text, ')');
  for (int field = 2; field < 22; field++)
    at = strchr(at + 1, ' ');
  return strtoull(at, NULL, 10);
}

/* Takes the lowest free slot. Stops after the owner word if half is set. */
static int claim(int half) {
  for (uint32_t i = 0; i < AIPUB_SLOTS; i++) {
    uint64_t none = 0;
    if (!__atomic_compare_exchange_n(&page->slot[i].owner, &none, (uint64_t)getpid(), 0, __ATOMIC_SEQ_CST,
                                     __ATOMIC_SEQ_CST))
      continue;
    slot = &page->slot[i];
    index_of_slot = i;
    if (half)
      return (int)i;
    store(&slot->start_time, start_time());
    for (uint32_t used = load(&page->used); used <= i;)
      if (__atomic_compare_exchange_n(&page->used, &used, i + 1, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
        break;
    return (int)i;
  }
  return -1;
}

static int join(void) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  snprintf(address.sun_path, sizeof address.sun_path, "%s/%s", dir, AIPUB_SOCKET_FILE);
  if (conn >= 0)
    close(conn);
  conn = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  return connect(conn, (struct sockaddr *)&address, sizeof address);
}

static int tell(uint32_t type, uint32_t turn, uint64_t a, uint64_t b) {
  struct aipub_msg m = {type, index_of_slot, turn, AIPUB_LAYOUT, a, b};
  return send(conn, &m, sizeof m, MSG_NOSIGNAL) == sizeof m ? 0 : -1;
}

/* Waits for a lease (or for none) at most so long; returns its kind. */
static uint32_t await(int lease, double seconds) {
  uint64_t end = now() + (uint64_t)(seconds * 1e9);
  for (;;) {
    uint32_t turn = load(&grant->turn);
    uint32_t kind = load(&grant->lease_kind);
    int have = kind != AIPUB_LEASE_NONE && load(&grant->until_ns) > now();
    if (have == lease || now() >= end)
      return have ? kind : AIPUB_LEASE_NONE;
    struct timespec t = {0, 20000000};
    syscall(SYS_futex, &grant->turn, FUTEX_WAIT, turn, lease ? &t : &(struct timespec){0, 200000}, NULL, 0);
  }
}

/* Works under n leases, each for so many microseconds; says how long each took to
 * come, in microseconds. Between leases it is idle for a moment, unless it is
 * steady: then more work waits all the time. */
static void work(int n, int us, int steady) {
  for (int i = 0; i < n; i++) {
    uint64_t from = now();
    store(&slot->waiting, 1);
    tell(AIPUB_WANT, 0, 0, 0);
    uint32_t turn;
    do {
      store(&slot->busy_turn, 0);
      if (await(1, 30) == AIPUB_LEASE_NONE) {
        printf("no lease\n");
        return;
      }
      turn = load(&grant->turn);
      store(&slot->busy_turn, turn);
    } while (load(&grant->turn) != turn || load(&grant->lease_kind) == AIPUB_LEASE_NONE);
    store(&slot->waiting, (uint32_t)steady);
    printf("%llu ", (unsigned long long)(now() - from) / 1000);
    if (__atomic_fetch_add(&at_work[0], 1, __ATOMIC_SEQ_CST) != 0)
      __atomic_fetch_add(&at_work[1], 1, __ATOMIC_SEQ_CST);
    if (us > 0)
      usleep((useconds_t)us);
    __atomic_fetch_sub(&at_work[0], 1, __ATOMIC_SEQ_CST);
    slot->launches++;
    store(&slot->busy_turn, 0);
    tell(AIPUB_DRAINED, turn, (uint64_t)us * 1000, (uint64_t)steady);
    await(0, 1);
  }
  store(&slot->waiting, 0);
  printf("done\n");
}

static void garbage(unsigned seed, int packets) {
  srand(seed);
  for (size_t i = 0; i < sizeof *page; i++)
    ((volatile unsigned char *)page)[i] = (unsigned char)rand();
  for (int i = 0; i < packets; i++) {
    unsigned char junk[64];
    for (size_t j = 0; j < sizeof junk; j++)
      junk[j] = (unsigned char)rand();
    ((uint32_t *)junk)[3] = AIPUB_LAYOUT;
    ((uint32_t *)junk)[0] %= 8;
    if (send(conn, junk, (size_t)(rand() % 4 ? 32 : rand() % 64), MSG_NOSIGNAL | MSG_DONTWAIT) < 0 && errno != EAGAIN)
      join();
  }
  printf("ok\n");
}

static void hello(uint64_t owner) {
  struct aipub_msg m;
  if (tell(AIPUB_HELLO, 0, owner, start_time()) != 0 || recv(conn, &m, sizeof m, 0) != sizeof m)
    printf("closed\n");
  else if (m.type == AIPUB_WELCOME)
    printf("welcome %u\n", m.slot);
  else
    printf("refused %llu\n", (unsigned long long)m.a);
}

static void step(const char *verb, long a, long b) {
  int rc = 0;
#define IS(name) (strcmp(verb, name) == 0)
  if (IS("work")) return work((int)a, (int)b, 0);
  if (IS("toil")) return work((int)a, (int)b, 1);
  if (IS("garbage")) return garbage((unsigned)a, (int)b);
  if (IS("hello")) return hello((uint64_t)getpid());
  if (IS("impostor")) return hello(1);
  if (IS("lease")) {
    uint32_t kind = AIPUB_LEASE_NONE;
    for (int i = 0; i < a * 50 && kind == AIPUB_LEASE_NONE; i++) {
      tell(AIPUB_WANT, 0, 0, 0);
      kind = await(1, 0.02);
    }
    printf("lease %u\n", kind);
    return;
  }
  if (IS("nolease")) { printf("lease %u\n", await(0, (double)a)); return; }
  if (IS("claim")) rc = claim(0);
  else if (IS("half")) rc = claim(1);
  else if (IS("connect")) rc = join();
  else if (IS("close")) { close(conn); conn = -1; }
  else if (IS("want")) rc = tell(AIPUB_WANT, 0, 0, 0);
  else if (IS("busy")) store(&slot->busy_turn, load(&grant->turn));
  else if (IS("idle")) store(&slot->busy_turn, 0);
  else if (IS("waiting")) store(&slot->waiting, (uint32_t)a);
  else if (IS("commit")) store(&slot->committed_bytes, (uint64_t)a);
  else if (IS("short")) rc = tell(AIPUB_SHORT, 0, (uint64_t)a, 0);
  else if (IS("closing")) rc = tell(AIPUB_CLOSING, load(&slot->busy_turn), now() + (uint64_t)a * 1000, 0);
  else if (IS("drained")) rc = tell(AIPUB_DRAINED, load(&grant->turn), (uint64_t)b * 1000, (uint64_t)a);
  else if (IS("exec")) {
    close(conn);
    execl("/proc/self/exe", "client", dir, NULL);
  } else if (IS("flood")) {
    for (long i = 0; i < a; i++)
      tell(AIPUB_WANT, 0, 0, 0);
  } else if (IS("strangers")) { /* so many connections that say nothing */
    for (long i = 0; i < a; i++) {
      conn = -1;
      join();
    }
  } else if (IS("truncate")) {
    char path[128];
    snprintf(path, sizeof path, "%s/%s", dir, AIPUB_PAGE_FILE);
    rc = truncate(path, a);
  } else rc = -99;
  printf("%d\n", rc);
}

int main(int argc, char **argv) {
  char line[256];
  if (argc != 2 && argc != 3)
    return 2;
  snprintf(dir, sizeof dir, "%s/", argv[1]);
  grant = map(AIPUB_GRANT_FILE, sizeof *grant, 0);
  page = map(AIPUB_PAGE_FILE, sizeof *page, 1);
  if (argc == 3)
    at_work = map(argv[2], sizeof alone, 1);
  setvbuf(stdout, NULL, _IOLBF, 0);
  setvbuf(stdin, NULL, _IONBF, 0); /* what is not read yet is there after exec */
  while (fgets(line, sizeof line, stdin)) {
    char verb[32] = "";
    long a = 0, b = 0;
    sscanf(line, "%31s %ld %ld", verb, &a, &b);
    step(verb, a, b);
  }
  return 0;
}
