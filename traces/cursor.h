/* SPDX-License-Identifier: Apache-2.0
 *
 * Numbers as bytes: little-endian fields, varints, and a cursor over untrusted bytes that can only
 * fail, never overrun: once something does not fit, `bad` is set and every further read gives 0.
 */
#ifndef TILEWISE_TRACES_CURSOR_H
#define TILEWISE_TRACES_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { VARINT_BYTES_MAX = 10 };

static inline void cursor_store(uint8_t *to, uint64_t value, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++)
        to[i] = (uint8_t)(value >> 8 * i);
}

static inline uint64_t cursor_load(const uint8_t *from, unsigned bytes)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < bytes; i++)
        value |= (uint64_t)from[i] << 8 * i;
    return value;
}

static inline uint64_t zigzag_encode(int64_t v)
{
    return (uint64_t)v << 1 ^ (uint64_t)(v >> 63);
}

static inline int64_t zigzag_decode(uint64_t v)
{
    return (int64_t)(v >> 1 ^ -(v & 1));
}

/* The same for 32 bits, on differences that wrap around. */
static inline uint32_t zigzag32_encode(uint32_t v)
{
    return v << 1 ^ (uint32_t) - (v >> 31);
}

static inline uint32_t zigzag32_decode(uint32_t v)
{
    return v >> 1 ^ (uint32_t) - (v & 1);
}

/* Bytes written to `to`, which has room for VARINT_BYTES_MAX. */
static inline unsigned varint_store(uint8_t *to, uint64_t value)
{
    unsigned n = 0;
    for (; value >= 0x80; value >>= 7)
        to[n++] = (uint8_t)(value | 0x80);
    to[n++] = (uint8_t)value;
    return n;
}

struct cursor {
    const uint8_t *at, *end;
    bool bad;
};

static inline uint64_t cursor_varint(struct cursor *c)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && c->at < c->end; shift += 7) {
        uint8_t byte = *c->at++;
        if (shift == 63 && byte > 1)
            break;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return value;
    }
    c->bad = true;
    c->at = c->end;
    return 0;
}

/* A number that must not be above `max`. */
static inline uint64_t cursor_varint_max(struct cursor *c, uint64_t max)
{
    uint64_t value = cursor_varint(c);
    if (value <= max)
        return value;
    c->bad = true;
    c->at = c->end;
    return 0;
}

/* The next `count` bytes, or NULL. */
static inline const uint8_t *cursor_bytes(struct cursor *c, uint64_t count)
{
    if (c->bad || count > (uint64_t)(c->end - c->at)) {
        c->bad = true;
        c->at = c->end;
        return NULL;
    }
    const uint8_t *bytes = c->at;
    c->at += count;
    return bytes;
}

#endif
