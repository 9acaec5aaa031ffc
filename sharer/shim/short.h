// SPDX-License-Identifier: Apache-2.0
//
// Memory that is the slice's own and that the driver does not have, because a
// borrower has it. The agent is told, and takes it back; meanwhile the driver is
// asked again instead of failing.
#ifndef AIPUB_SHORT_H
#define AIPUB_SHORT_H

#include "slices.h"

// One allocation that waits. Zero before it does.
struct shortage {
    uint64_t since, said, pause;
};

// short_again is told the driver's answer to an allocation of so many bytes that
// are charged to the slice (NULL: to none). True: it has waited a moment, and the
// driver is to be asked again. It waits only for what is within the slice's
// guarantee: a second for the agent's answer, then for as long as the agent says
// that memory is coming, a minute at most. It never waits while the agent is
// silent or a capture is open.
bool short_again(struct shortage *w, struct device *d, struct slice *s, uint64_t bytes, int result);

// SHORT_CALL makes an allocating call of the driver, again where that can help.
#define SHORT_CALL(device, slice, bytes, call)                                                                         \
    ({                                                                                                                 \
        struct shortage waits = {0};                                                                                   \
        int answer = call;                                                                                             \
        while (__builtin_expect(short_again(&waits, device, slice, bytes, answer), 0)) answer = call;                  \
        answer;                                                                                                        \
    })

#endif
