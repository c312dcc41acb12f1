/* SPDX-License-Identifier: Apache-2.0
 *
 * CUPTI serves one tool at a time: when a profiler in the process asks for it, we leave first. And
 * the driver's door for tools, which opens before the first kernel.
 */
#include <stdint.h>

#include "tracer/cupti.h"
#include "tracer/hook.h"
#include "tracer/tap.h"

enum { NOT_INITIALIZED = 15 };

#define CUPTI_SUBSCRIBE_PARAMS void **subscriber, void *callback, void *own, void *parameters
#define CUPTI_SUBSCRIBE_ARGS   subscriber, callback, own, parameters

static int missing(void)
{
    return NOT_INITIALIZED;
}

#define ROW(family, symbol)                                                                        \
    HOOK int symbol(family##_PARAMS);                                                              \
    INLINE int run_##symbol(const void *caller, __typeof__(&symbol) real, family##_PARAMS)         \
    {                                                                                              \
        (void)caller;                                                                              \
        cupti_yield("busy (a profiler in the process)");                                           \
        return real(family##_ARGS);                                                                \
    }                                                                                              \
    HOOK_DEFINE(int, symbol, HOOK_LIST(family##_PARAMS), HOOK_LIST(family##_ARGS))
#include "tracer/cupti_user.def"
#undef ROW

HOOK_TABLE(wrap_cupti_hook)
#define ROW(family, symbol, ...) HOOK_ROW(symbol, missing)
#include "tracer/cupti_user.def"
#undef ROW
HOOK_TABLE_END

/* Called by the driver when it is initialised, where CUDA_INJECTION64_PATH names this library. */
HOOK int InitializeInjection(void);
HOOK int InitializeInjection(void)
{
    tap_start();
    cupti_look();
    return 1;
}
