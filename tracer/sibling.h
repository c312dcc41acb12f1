/* SPDX-License-Identifier: Apache-2.0
 *
 * Another function of the library that a real function lives in: a process may hold two copies of a
 * library, and each must be asked about its own objects. Any thread, no lock.
 */
#ifndef TILEWISE_TRACER_SIBLING_H
#define TILEWISE_TRACER_SIBLING_H

#include <stdatomic.h>

enum { SIBLING_LIBRARIES = 4 };

/* What was found before; zero-initialised, one for each name. */
struct sibling {
    struct {
        const void *_Atomic real; /* stored last */
        void *_Atomic found;
    } of[SIBLING_LIBRARIES];
    _Atomic _Bool is_busy;
};

void *sibling_find_far(struct sibling *known, const void *real, const char *name);

/* Function `name` of the library of `real`, or NULL. At a glance in the first library that asked.
 */
static inline void *sibling_find(struct sibling *known, const void *real, const char *name)
{
    if (__builtin_expect(atomic_load_explicit(&known->of[0].real, memory_order_acquire) == real, 1))
        return atomic_load_explicit(&known->of[0].found, memory_order_relaxed);
    return sibling_find_far(known, real, name);
}

#endif
