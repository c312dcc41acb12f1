/* SPDX-License-Identifier: Apache-2.0 */
#include "tracer/nvtx_names.h"

#include <string.h>

#include "traces/fnv.h"

static uint64_t hash_of(const char *text, size_t bytes)
{
    uint64_t hash = fnv_bytes(FNV_START, text, bytes);
    return hash ? hash : 1;
}

static void write_text(struct nvtx_name *name, const char *text, size_t bytes)
{
    if (bytes >= NVTX_NAMES_BYTES) {
        bytes = NVTX_NAMES_BYTES - 1;
        while (bytes && ((unsigned char)text[bytes] & 0xc0) == 0x80)
            bytes--;
    }
    memcpy(name->text, text, bytes);
    name->text[bytes] = '\0';
    atomic_store_explicit(&name->is_ready, true, memory_order_release);
}

unsigned nvtx_names_number(struct nvtx_name *pool, unsigned size, const char *text, size_t bytes)
{
    uint64_t hash = hash_of(text, bytes);
    unsigned at = (unsigned)(hash % size);
    for (unsigned tries = 0; tries < size; tries++, at = at + 1 == size ? 0 : at + 1) {
        uint64_t found = atomic_load_explicit(&pool[at].hash, memory_order_relaxed);
        if (found == 0 && atomic_compare_exchange_strong(&pool[at].hash, &found, hash)) {
            write_text(&pool[at], text, bytes);
            return at + 1;
        }
        if (found == hash)
            return at + 1;
    }
    return 0;
}

const char *nvtx_names_text(const struct nvtx_name *pool, unsigned number)
{
    const struct nvtx_name *name = &pool[number - 1];
    return atomic_load_explicit(&name->is_ready, memory_order_acquire) ? name->text : NULL;
}
