// SPDX-License-Identifier: Apache-2.0
//
// A bad description is refused with a line that names file, line, key, value
// and what is allowed.
#include "check.h"

static struct gs_description d;
static char why[2048];

static void refused(const char *text, const char *expect) {
    int bad = gs_describe("m.conf", text, &d, why, sizeof why);
    CHECK(bad == -1 && strstr(why, expect), "said \"%s\", expected \"%s\"", bad ? why : "(accepted)", expect);
}

static void refusals(void) {
    refused("", "m.conf:0: no [gpu] section");
    refused("model = T4\n", "m.conf:1: \"model\" stands before any section");
    refused("[gpu]\nmodel = H300\n", "m.conf:2: model = \"H300\": allowed are T4, L40S, A30-24");
    refused("[gpu]\n", "m.conf:1: [gpu] has no model");
    refused("[gpu]\nmodel = T4\ncount = 0\n", "m.conf:3: count = \"0\": allowed are 1 to 32");
    refused("[gpu]\nmodel = T4\ncount = 33\n", "count = \"33\"");
    refused("[gpu]\nmodel = T4\ncount = -1\n", "count = \"-1\"");
    refused("[gpu]\nmodel = T4\nmodel = L40S\n", "m.conf:3: model is set twice in this [gpu], first in line 2");
    refused("[gpu]\nmodel = T4\nmemory = 16GB\n", "memory = \"16GB\": write a size like 81559MiB or 80GiB");
    refused("[gpu]\nmodel = A100-40\nmemory = 10GiB\n", "needs at least 40192MiB");
    refused("[gpu]\nmodel = T4\nmig = yes\n", "m.conf:3: mig = \"yes\": model T4 has no MIG");
    refused("[gpu]\nmodel = T4\nmig = perhaps\n", "allowed are yes and no");
    refused("[gpu]\nmodel = A30-24\nmig-activation = now\n", "allowed are auto and reset");
    refused("[gpu]\nmodel = T4\nnuma-node = 64\n", "numa-node = \"64\": allowed are 0 to 63 and none");
    refused("[gpu]\nmodel = T4\ncount = 3\nnuma-node = 0, 1\n",
            "numa-node lists 2 values for count = 3: write one or 3");
    refused("[gpu]\nmodel = T4\ncount = 2\nserial = 1\n", "serial lists 1 values for count = 2: write 2");
    refused("[gpu]\nmodel = T4\npci-bus-id = 18:00.0\n", "write DOMAIN:BUS:DEVICE.0 in hex");
    refused("[gpu]\nmodel = T4\npci-bus-id = 0000:18:00.1\n", "pci-bus-id = \"0000:18:00.1\"");
    refused("[gpu]\nmodel = T4\nuuid = GPU-1\n", "uuid = \"GPU-1\"");
    refused("[gpu]\nmodel = T4\ncount = 2\nminor = 3, 3\n", "minor 3 is that of GPU 0 and of GPU 1");
    refused("[gpu]\nmodel = T4\ncount = 2\nserial = 9, 9\n", "serial 9 is that of");
    refused("[gpu]\nmodel = T4\nspeed = 9\n", "key \"speed\" is unknown in [gpu]: allowed are model, count");
    refused("[machine]\nspeed = 9\n", "key \"speed\" is unknown in [machine]: allowed are name");
    refused("[machine]\n[machine]\n", "[machine] appears twice, first in line 1");
    refused("[gpu]\nmodel = T4\n[machine]\n", "[machine] stands behind a [gpu]");
    refused("[machine]\ndriver-version = new\n", "driver-version = \"new\"");
    refused("[machine]\ncuda-version = 13\n", "write MAJOR.MINOR like 13.0");
    refused("[machine]\nrequire-root = 1\n", "allowed are yes and no");
    refused("[machine]\ncontexts = both\n", "contexts = \"both\": allowed are time-sliced and concurrent");
    refused("[machine]\nquantum-us = 0\n", "quantum-us = \"0\": write a whole number from 1 to 1000000");
    refused("[machine]\nswitch-us = -1\n", "switch-us = \"-1\": write a whole number from 0 to 100000");
    refused("[machine]\ncontext-mib = 1GiB\n", "context-mib = \"1GiB\": write a whole number from 0 to 16384");
    refused("[cpu]\n", "section [cpu] is unknown");
    refused("[gpu\n", "is no section");
    refused("[gpu]\nmodel T4\n", "neither a section nor KEY = VALUE");
}

static void accepted(void) {
    const char *text = "# c\n[machine]\r\n name = a b # c\n\n[gpu]\ncount=2\nmodel = A30-24\nnuma-node = none\n"
                       "[gpu]\nmodel=H200-141\nnuma-node=1\nminor = 7\nmig = no\npci-bus-id = 0001:c1:00.0\n";
    int bad = gs_describe("m.conf", text, &d, why, sizeof why);
    CHECK(!bad, "%s", why);
    CHECK(!strcmp(d.machine.name, "a b") && d.machine.gpu_count == 3);
    CHECK(!strcmp(d.machine.nvml_version, "13.580.95.05"), "%s", d.machine.nvml_version);
    CHECK(d.gpu[0].numa_node == GS_NONE && d.gpu[2].numa_node == 1 && d.gpu[2].minor == 7);
    CHECK(d.gpu[0].mig_capable && !d.gpu[2].mig_capable && d.gpu[2].memory_mib == 143771);
    CHECK(d.gpu[2].domain == 1 && d.gpu[2].bus == 0xc1);
    struct gs_gpu_spec before = d.gpu[0];
    gs_describe("m.conf", text, &d, why, sizeof why);
    CHECK(!memcmp(&before, &d.gpu[0], sizeof before), "the same description must be the same hardware");
}

void test_describe(void) {
    refusals();
    accepted();
}
