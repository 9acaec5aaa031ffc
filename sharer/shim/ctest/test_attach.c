// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests.h"

static struct fake f;

static void begin(char root[64]) {
    fake_root(root);
    fake_slice(&f, root, "a", AIPUB_HAS_MEMORY, 1024 * MIB);
}

static int init(const char *root) {
    return finish(run(root, "", ARGS("init")));
}

static void hello(void) {
    char root[64];
    struct aipub_msg m;
    begin(root);
    CHECK(init(root) == 0);
    CHECK(fake_wait(&f, AIPUB_HELLO, 1, &m) && m.layout == AIPUB_LAYOUT && m.slot == 0);
    struct aipub_slot *s = &f.page->slot[0];
    CHECK(m.a == s->owner && m.b == s->start_time && s->start_time > 0);
    CHECK(f.page->used == 1 && s->hooks > 100 && s->found > 100 && s->driver_version >= 13000);
    uint8_t none[20] = {0};
    CHECK(memcmp(s->build_id, none, 20) != 0);
    fake_end(&f);
}

// What cannot be used is refused, and not used without a limit.
static void refusals(void) {
    char root[64], path[256];
    for (int what = 0; what < 7; what++) {
        begin(root);
        switch (what) {
        case 0: f.grant->magic++; break;
        case 1: f.grant->layout++; break;
        case 2: f.grant->size++; break;
        case 3: f.page->layout++; break;
        case 4: f.page->slots++; break;
        case 5: f.answer = AIPUB_REFUSED; break;
        case 6:
            snprintf(path, sizeof path, "%s/grant", f.dir);
            CHECK(truncate(path, 100) == 0);
            f.silent = true;
        }
        CHECK(init(root) == 42, "case %d", what);
        if (what == 6) CHECK(truncate(path, sizeof *f.grant) == 0);
        fake_end(&f);
    }
}

static void passes(void) {
    char root[64];
    CHECK(init(NULL) == 0, "no slices: nothing is limited");
    CHECK(init("/nonexistent") == 0);
    begin(root);
    f.answer = 0;
    CHECK(init(root) == 0, "an agent that does not answer is no reason to stop");
    fake_end(&f);
}

// Other processes of the container can write the page.
static void garbage(void) {
    char root[64];
    begin(root);
    unsigned seed = 1;
    for (size_t i = 0; i < sizeof f.page->slot; i++) ((uint8_t *)f.page->slot)[i] = (uint8_t)rand_r(&seed);
    f.page->used = 0xffffffff;
    memset(&f.page->slot[7], 0, sizeof f.page->slot[7]);
    CHECK(init(root) == 0);
    memset(&f.page->slot[9], 0, sizeof f.page->slot[9]);
    CHECK(finish(run(root, "", ARGS("try"))) == 0, "no crash and no hang");
    fake_end(&f);
}

// Whatever comes first that could take something attaches, or is refused.
static void lazily(void) {
    static const char *const calls[] = {"retain", "context", "green", "create", "pool", "total", "early"};
    char root[64];
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        for (int refused = 0; refused < 2; refused++) {
            begin(root);
            f.grant->layout += (uint32_t)refused;
            CHECK(finish(run(root, "", ARGS("lazy", calls[i]))) == (refused ? 42 : 0), "%s", calls[i]);
            if (refused) CHECK(fake_heard(&f, AIPUB_HELLO) == 0, "%s", calls[i]);
            else CHECK(fake_wait(&f, AIPUB_HELLO, 1, NULL), "%s", calls[i]);
            fake_end(&f);
        }
    begin(root);
    CHECK(finish(run(root, "", ARGS("crowded"))) == 42, "not even a look at the slices, so no GPU");
    fake_end(&f);
}

void test_attach(void) {
    lazily();
    hello();
    refusals();
    passes();
    garbage();
}
