// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "short.h"

#include <errno.h>

#include "capture.h"
#include "gate.h"
#include "ledger.h"
#include "sys.h"

#define ANSWER SECOND               // the agent looks every 50 ms
#define LONGEST (60 * SECOND)       // longer than the agent's last step takes
#define AGAIN (500 * MILLISECOND)   // what is said counts for 3 s
#define LONGEST_PAUSE (20 * MILLISECOND)

// is_own reports whether all that the slice has and has announced is within its
// guarantee. What is waited for is announced.
static bool is_own(const struct slice *s) {
    struct sums sum = ledger_sums(s);
    uint64_t guaranteed = LOAD(s->grant->guaranteed_bytes);
    return sum.settled <= guaranteed && sum.pending <= guaranteed - sum.settled;
}

static bool may_wait(struct shortage *w, const struct slice *s, uint64_t now) {
    if (!s || !s->slot || atomic_load(&capture_open) || slices_silent(s->grant, now) || !is_own(s)) return false;
    if (!w->since) w->since = now;
    uint64_t waited = now - w->since;
    return waited < ANSWER || (waited < LONGEST && LOAD(s->grant->coming_ns) > now);
}

bool short_again(struct shortage *w, struct device *d, struct slice *s, uint64_t bytes, int result) {
    if (result != CUDA_ERROR_OUT_OF_MEMORY && !w->since) return false;
    int error = errno;
    uint64_t now = sys_now();
    bool again = result == CUDA_ERROR_OUT_OF_MEMORY && may_wait(w, s, now);
    if (again && now - w->said >= AGAIN) {
        gate_tell(d, s, AIPUB_SHORT, bytes);
        w->said = now;
    } else if (!again && w->since) {
        gate_tell(d, s, AIPUB_SHORT, 0);
    }
    if (again) {
        w->pause = w->pause == 0 ? MILLISECOND : w->pause < LONGEST_PAUSE ? 2 * w->pause : w->pause;
        sys_sleep(w->pause);
    }
    errno = error;
    return again;
}
