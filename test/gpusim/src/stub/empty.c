// SPDX-License-Identifier: Apache-2.0
//
// The source of libraries that only have to be there.
extern int gpusim_stub;
