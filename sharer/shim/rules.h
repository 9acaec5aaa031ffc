// SPDX-License-Identifier: Apache-2.0
//
// Declarations of the rules on_<rule>. The first argument is the driver's
// function; rules of a TWIN are then told whether the call was in the form for
// per-thread default streams.
#ifndef AIPUB_RULES_H
#define AIPUB_RULES_H

#include "resolve.h"

#define UNPACK(...) __VA_ARGS__
#define HOOK(name, rule, class, params, args) int on_##rule(fn_##name real, UNPACK params);
#define TWIN(name, suffix, rule, class, params, args) int on_##rule(fn_##name real, bool per_thread, UNPACK params);
#include "hooks.h"
#undef HOOK
#undef TWIN

#endif
