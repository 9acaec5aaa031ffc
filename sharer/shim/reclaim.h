// SPDX-License-Identifier: Apache-2.0
#ifndef AIPUB_RECLAIM_H
#define AIPUB_RECLAIM_H

#include "slices.h"

// reclaim_look does what the agent asks of the GPU's slices about memory, once
// for each time that it asks. A context of the GPU is current.
void reclaim_look(struct device *d);

#endif
