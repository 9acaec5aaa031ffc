// SPDX-License-Identifier: Apache-2.0
#ifndef GPUSIM_CU_EVENT_H
#define GPUSIM_CU_EVENT_H

#include "cu.h"

// Outside of captures. A wait for an event that is complete is nothing.
CUresult cu_event_record(CUevent e, CUstream s);
CUresult cu_event_wait(CUevent e, CUstream s);

#endif
