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

/* Function `name` of the library of `real`, or NULL. */
void *sibling_find(struct sibling *known, const void *real, const char *name);

#endif
