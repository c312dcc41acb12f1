/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory of the recorder: zeroed, straight from the kernel, outside the host's heap, never in a
 * core file, never in huge pages (most of it is never touched).
 */
#ifndef TILEWISE_TRACER_PAGES_H
#define TILEWISE_TRACER_PAGES_H

#include <stddef.h>

/* NULL when there is none. Keeps errno. */
void *pages_map(size_t bytes);

#endif
