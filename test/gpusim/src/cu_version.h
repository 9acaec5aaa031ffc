// SPDX-License-Identifier: Apache-2.0
//
// Which driver version this library is: its own when it was built as one, else
// what the machine's description says.
#ifndef GPUSIM_CU_VERSION_H
#define GPUSIM_CU_VERSION_H

// The newest version that the list of calls describes, as cuDriverGetVersion
// gives it: 13030 is 13.3.
#define GS_CUDA_NEWEST 13030

extern const int gs_cuda_built_as; // 0: the default library

int gs_cuda_version(void);

#endif
