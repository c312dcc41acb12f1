/* SPDX-License-Identifier: Apache-2.0
 *
 * FNV-1a of 64 bits, for short texts: no initialization, no state, nothing to link.
 */
#ifndef TILEWISE_TRACES_FNV_H
#define TILEWISE_TRACES_FNV_H

#include <stddef.h>
#include <stdint.h>

#define FNV_START 0xcbf29ce484222325u

/* `hash`: FNV_START, that xor a seed, or what came out before: parts may follow each other. */
static inline uint64_t fnv_bytes(uint64_t hash, const void *bytes, size_t count)
{
    const unsigned char *at = bytes;
    for (size_t i = 0; i < count; i++)
        hash = (hash ^ at[i]) * 0x100000001b3u;
    return hash;
}

static inline uint64_t fnv_text(uint64_t hash, const char *text)
{
    for (; *text; text++)
        hash = fnv_bytes(hash, text, 1);
    return hash;
}

#endif
