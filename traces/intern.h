/* SPDX-License-Identifier: Apache-2.0
 *
 * Byte strings to small numbers, in order of first sight. Memory is mapped (buffer.h), so the shim
 * can use it too. Zero-initialise. Pointers move when the table grows. One thread.
 */
#ifndef TILEWISE_TRACES_INTERN_H
#define TILEWISE_TRACES_INTERN_H

#include "traces/buffer.h"
#include "traces/status.h"

struct intern {
    size_t count;
    struct buffer items; /* struct intern_item */
    struct buffer slots; /* uint32_t id + 1; 0 = free */
    struct buffer arena; /* the bytes, each followed by `tail` zero bytes */
    unsigned tail;       /* set to 1 for text */
};

struct intern_limits {
    size_t count, bytes;
};

/* Id of these bytes, new or known. LIMIT, NOMEM: nothing changed. */
enum status intern_add(struct intern *t, const void *bytes, size_t count,
                       const struct intern_limits *limits, uint32_t *id);
/* Bytes of a known id. */
const void *intern_get(const struct intern *t, uint32_t id, size_t *count);
void intern_free(struct intern *t);

#endif
