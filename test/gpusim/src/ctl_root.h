// SPDX-License-Identifier: Apache-2.0
//
// Device nodes of an installed root; shared by the verbs that make them.
#ifndef GPUSIM_CTL_ROOT_H
#define GPUSIM_CTL_ROOT_H

#include "state.h"

// ctl_make_devices makes the nodes of the GPUs and of the instances that
// exist, and removes those of instances that do not. It needs CAP_MKNOD.
int ctl_make_devices(const struct gs_state *s);

#endif
