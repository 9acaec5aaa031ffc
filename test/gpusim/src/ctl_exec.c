// SPDX-License-Identifier: Apache-2.0
#include "ctl_exec.h"

#include <stdio.h>

#include "clients.h"

struct queues {
    unsigned streams;
    uint64_t commands, work_ns;
};

static struct queues queues_of(const struct gs_exec *e, uint32_t context) {
    struct queues q = {0};
    for (uint32_t i = 0; i < e->stream_high; i++) {
        const struct gs_stream *s = &e->stream[i];
        if (!s->used || s->context != context) continue;
        q.streams++;
        q.commands += s->tail - s->head;
        q.work_ns += s->work_ns;
    }
    return q;
}

// holds: the context has the GPU, or its instance, at this moment.
static bool holds(const struct gs_machine *m, const struct gs_context *c, uint32_t index) {
    return m->s->gpu[c->gpu].v.timeline[c->place].context == index;
}

static const char *const states[] = {"", ", locked", ", checkpointed", ", failed"};

void ctl_print_contexts(const struct gs_machine *m, uint32_t gpu) {
    const struct gs_exec *e = &m->s->exec;
    for (uint32_t i = 0; i < e->context_high; i++) {
        const struct gs_context *c = &e->context[i];
        if (!c->used || c->gpu != gpu) continue;
        struct queues q = queues_of(e, i);
        printf("      context %u of pid %u: %u streams, %llu commands queued (%llu us), "
               "%llu kernels and %llu us done%s%s\n",
               i, gs_client_pid(m, c->client), q.streams, (unsigned long long)q.commands,
               (unsigned long long)q.work_ns / 1000, (unsigned long long)c->kernels,
               (unsigned long long)c->busy_ns / 1000, states[e->client[c->client].checkpoint & 3],
               holds(m, c, i) && q.commands ? ", has the GPU" : "");
    }
}

void ctl_json_contexts(const struct gs_machine *m, uint32_t gpu) {
    const struct gs_exec *e = &m->s->exec;
    const char *comma = "";
    for (uint32_t i = 0; i < e->context_high; i++) {
        const struct gs_context *c = &e->context[i];
        if (!c->used || c->gpu != gpu) continue;
        struct queues q = queues_of(e, i);
        printf("%s{\"context\":%u,\"pid\":%u,\"streams\":%u,\"queued\":%llu,\"queuedUs\":%llu,\"kernels\":%llu,"
               "\"busyUs\":%llu}",
               comma, i, gs_client_pid(m, c->client), q.streams, (unsigned long long)q.commands,
               (unsigned long long)q.work_ns / 1000, (unsigned long long)c->kernels,
               (unsigned long long)c->busy_ns / 1000);
        comma = ",";
    }
}
