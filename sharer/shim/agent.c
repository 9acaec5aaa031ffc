// SPDX-License-Identifier: Apache-2.0
//
// The connection to the node agent. It carries news, never memory or work: when
// it is lost nothing stops, and it is made again.
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "slices.h"
#include "sys.h"

static void drop(struct slice *s) {
    if (s->socket >= 0) close(s->socket);
    s->socket = -1;
}

void agent_hello(struct slice *s) {
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    drop(s);
    if (!s->slot || strlen(s->path) >= sizeof to.sun_path) return;
    strcpy(to.sun_path, s->path);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) return;
    if (connect(fd, (struct sockaddr *)&to, sizeof to) != 0) {
        close(fd);
        return;
    }
    s->socket = fd;
    agent_send(s, AIPUB_HELLO, 0, LOAD(s->slot->owner), LOAD(s->slot->start_time));
}

void agent_send(struct slice *s, uint32_t type, uint32_t turn, uint64_t a, uint64_t b) {
    struct aipub_msg m = {.type = type, .slot = s->index, .turn = turn, .layout = AIPUB_LAYOUT, .a = a, .b = b};
    if (s->socket < 0) return;
    ssize_t n;
    do n = send(s->socket, &m, sizeof m, MSG_NOSIGNAL | MSG_DONTWAIT);
    while (n < 0 && errno == EINTR);
    if (n != sizeof m) drop(s);
}

// receive takes one message: 1 there was one, 0 there is none yet, -1 lost.
static int receive(struct slice *s, struct aipub_msg *m) {
    ssize_t n;
    do n = recv(s->socket, m, sizeof *m, MSG_DONTWAIT);
    while (n < 0 && errno == EINTR);
    if (n == sizeof *m) return 1;
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return 0;
    return -1;
}

bool agent_welcomed(struct slice *s, uint64_t until) {
    while (s->socket >= 0) {
        struct aipub_msg m;
        int got = receive(s, &m);
        if (got < 0) drop(s);
        if (got > 0) return m.type != AIPUB_REFUSED;
        uint64_t now = sys_now();
        if (got < 0 || now >= until) break;
        struct pollfd p = {.fd = s->socket, .events = POLLIN};
        poll(&p, 1, (int)((until - now) / MILLISECOND) + 1);
    }
    return true;
}

bool agent_keep(struct slice *s, uint64_t now) {
    struct aipub_msg m;
    int got = 1;
    while (s->socket >= 0 && got > 0) got = receive(s, &m);
    if (got < 0) drop(s);
    if (s->socket >= 0 || now < s->next_connect) return false;
    s->next_connect = now + SECOND;
    agent_hello(s);
    return s->socket >= 0;
}
