// SPDX-License-Identifier: Apache-2.0
#ifndef AIPUB_CONTEXT_H
#define AIPUB_CONTEXT_H

// context_after_fork forgets everything: a child has no context.
void context_after_fork(void);

#endif
