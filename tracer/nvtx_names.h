/* SPDX-License-Identifier: Apache-2.0
 *
 * Names that the host gave, as small numbers: a pool of fixed size without lock or allocation. Two
 * names with one 64-bit hash are one. Any thread, signal handlers too.
 */
#ifndef TILEWISE_TRACER_NVTX_NAMES_H
#define TILEWISE_TRACER_NVTX_NAMES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { NVTX_NAMES_BYTES = 120 };

struct nvtx_name {
    _Atomic uint64_t hash; /* 0: free */
    _Atomic bool is_ready; /* the text is there */
    char text[NVTX_NAMES_BYTES];
};

/* Number from 1 of a name of `bytes` bytes (longer ones are cut, not inside a UTF-8 character);
 * 0 when all `size` places are taken by others. */
unsigned nvtx_names_number(struct nvtx_name *pool, unsigned size, const char *text, size_t bytes);

/* Text of a number; NULL while the thread that came first still writes it. */
const char *nvtx_names_text(const struct nvtx_name *pool, unsigned number);

#endif
