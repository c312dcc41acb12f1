/* SPDX-License-Identifier: Apache-2.0 */
#include "tracer/cudnn_plans.h"

#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

enum { SETS = 1024, WAYS = 8, WORDS = sizeof(struct tilewise_signature) / sizeof(uint64_t) };
enum { BUSY = 1 }; /* a name that no plan has: the entry is being written */

struct entry {
    _Atomic uintptr_t name; /* 0 = free */
    _Atomic uint64_t version;
    _Atomic uint64_t word[WORDS];
};

static struct entry entries[SETS][WAYS];

static struct entry *find(uintptr_t name, const void *plan)
{
    struct entry *set = entries[(uint64_t)(uintptr_t)plan * 0x9e3779b97f4a7c15u >> 54];
    for (int i = 0; i < WAYS; i++)
        if (atomic_load_explicit(&set[i].name, memory_order_acquire) == name)
            return &set[i];
    return NULL;
}

bool cudnn_plans_get(const void *plan, struct tilewise_signature *out)
{
    uintptr_t name = (uintptr_t)plan;
    struct entry *e = plan ? find(name, plan) : NULL;
    uint64_t word[WORDS];
    if (!e)
        return false;
    uint64_t version = atomic_load_explicit(&e->version, memory_order_acquire);
    bool is_its = atomic_load_explicit(&e->name, memory_order_acquire) == name;
    for (size_t i = 0; i < WORDS; i++)
        word[i] = atomic_load_explicit(&e->word[i], memory_order_acquire);
    memcpy(out, word, sizeof *out);
    /* Another plan may have taken the place meanwhile. */
    return is_its && atomic_load_explicit(&e->version, memory_order_relaxed) == version;
}

void cudnn_plans_put(const void *plan, const struct tilewise_signature *key)
{
    uint64_t word[WORDS];
    struct entry *e = plan ? find((uintptr_t)plan, plan) : NULL;
    if (plan && !e)
        e = find(0, plan);
    if (!e)
        return;
    uintptr_t name = atomic_load_explicit(&e->name, memory_order_relaxed);
    bool is_mine = name == 0 || name == (uintptr_t)plan;
    if (!is_mine || !atomic_compare_exchange_strong(&e->name, &name, BUSY))
        return;
    memcpy(word, key, sizeof word);
    atomic_fetch_add_explicit(&e->version, 1, memory_order_acq_rel);
    for (size_t i = 0; i < WORDS; i++)
        atomic_store_explicit(&e->word[i], word[i], memory_order_release);
    atomic_store_explicit(&e->name, (uintptr_t)plan, memory_order_release);
}

void cudnn_plans_forget(const void *plan)
{
    uintptr_t name = (uintptr_t)plan;
    struct entry *e = plan ? find(name, plan) : NULL;
    if (e)
        atomic_compare_exchange_strong(&e->name, &name, 0);
}
