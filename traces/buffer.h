/* SPDX-License-Identifier: Apache-2.0
 *
 * A growing byte buffer in memory of its own mapping: the writer lives in foreign processes and
 * must not touch their heap. Zero-initialise. Pointers into it move when it grows.
 */
#ifndef TILEWISE_TRACES_BUFFER_H
#define TILEWISE_TRACES_BUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "traces/cursor.h"

struct buffer {
    uint8_t *bytes;
    size_t size, capacity;
};

/* Room for `more` bytes behind `size`; false: no memory, nothing changed. */
bool buffer_reserve(struct buffer *b, size_t more);
void buffer_free(struct buffer *b);

/* The rest needs room reserved before. */
static inline void buffer_put(struct buffer *b, const void *bytes, size_t count)
{
    if (count)
        memcpy(b->bytes + b->size, bytes, count);
    b->size += count;
}

static inline void buffer_put_varint(struct buffer *b, uint64_t value)
{
    b->size += varint_store(b->bytes + b->size, value);
}

/* A varint of exactly 4 bytes (up to 2^28 - 1) at `at`, for lengths known only afterwards. */
static inline void buffer_patch(struct buffer *b, size_t at, size_t value)
{
    for (unsigned i = 0; i < 4; i++)
        b->bytes[at + i] = (uint8_t)((value >> 7 * i & 0x7f) | (i < 3 ? 0x80 : 0));
}

/* Start a section; returns the place that buffer_end_section wants. Takes at most 14 bytes. */
static inline size_t buffer_begin_section(struct buffer *b, unsigned type)
{
    buffer_put_varint(b, type);
    b->size += 4;
    return b->size;
}

static inline void buffer_end_section(struct buffer *b, size_t start)
{
    buffer_patch(b, start - 4, b->size - start);
}

#endif
