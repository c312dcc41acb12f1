/* SPDX-License-Identifier: Apache-2.0 */
#include "tracer/cudnn_plans.h"

#include <string.h>

enum { SETS = 1 << CUDNN_PLANS_SET_BITS, WAYS = CUDNN_PLANS_WAYS };
enum { WORDS = sizeof(struct tilewise_signature) / sizeof(uint64_t) };
enum { BUSY = 1 }; /* a name that no plan has: the entry is being written */

HOT_DATA _Alignas(HOT_LINE) struct cudnn_plans_place cudnn_plans_near[1 << PASS_PLAN_BITS];
HOT_DATA _Alignas(HOT_LINE) _Atomic uint8_t cudnn_plans_known[1 << PASS_PLAN_KNOWN_BITS];

/* The keys lie elsewhere: names are looked through. */
static struct set {
    _Alignas(HOT_LINE) _Atomic uintptr_t name[WAYS]; /* 0 = free */
    _Atomic uint64_t number[WAYS];
} sets[SETS];
static _Atomic uint64_t keys[SETS][WAYS][WORDS], numbers;

/* What the last numbers are of; number 0: being written. */
static struct numbered {
    _Atomic uint64_t number, word[WORDS];
} numbered[CUDNN_PLANS_NUMBERS];

struct entry {
    _Atomic uintptr_t *name;
    _Atomic uint64_t *number, *word;
};

/* Of the set of `plan`, the entry that is called `name`. */
static bool find(struct entry *e, uintptr_t name, const void *plan)
{
    uint32_t at = cudnn_plans_hash(plan, CUDNN_PLANS_SET_BITS);
    struct set *set = &sets[at];
    for (int i = 0; i < WAYS; i++)
        if (atomic_load_explicit(&set->name[i], memory_order_acquire) == name) {
            *e = (struct entry){ &set->name[i], &set->number[i], keys[at][i] };
            return true;
        }
    return false;
}

/* A key in words, which somebody else may be writing. */
static void load(const _Atomic uint64_t from[WORDS], struct tilewise_signature *out)
{
    uint64_t word[WORDS];
    for (size_t i = 0; i < WORDS; i++)
        word[i] = atomic_load_explicit(&from[i], memory_order_acquire);
    memcpy(out, word, sizeof *out);
}

static void store(_Atomic uint64_t to[WORDS], const struct tilewise_signature *key)
{
    uint64_t word[WORDS];
    memcpy(word, key, sizeof word);
    for (size_t i = 0; i < WORDS; i++)
        atomic_store_explicit(&to[i], word[i], memory_order_release);
}

uint64_t cudnn_plans_get(const void *plan, struct tilewise_signature *out)
{
    uintptr_t name = (uintptr_t)plan;
    struct entry e;
    if (!plan || !find(&e, name, plan))
        return 0;
    uint64_t number = atomic_load_explicit(e.number, memory_order_acquire);
    bool is_its = atomic_load_explicit(e.name, memory_order_acquire) == name;
    load(e.word, out);
    /* Another plan may have taken the place meanwhile. */
    return is_its && atomic_load_explicit(e.number, memory_order_relaxed) == number ? number : 0;
}

bool cudnn_plans_key(uint64_t number, struct tilewise_signature *out)
{
    const struct numbered *n = &numbered[number % CUDNN_PLANS_NUMBERS];
    if (number == 0 || atomic_load_explicit(&n->number, memory_order_acquire) != number)
        return false;
    load(n->word, out);
    return atomic_load_explicit(&n->number, memory_order_relaxed) == number;
}

static void keep(uint64_t number, const struct tilewise_signature *key)
{
    struct numbered *n = &numbered[number % CUDNN_PLANS_NUMBERS];
    atomic_exchange_explicit(&n->number, 0, memory_order_acq_rel);
    store(n->word, key);
    atomic_store_explicit(&n->number, number, memory_order_release);
}

static bool name_place(struct cudnn_plans_place *p, uintptr_t name, const void *plan,
                       uint64_t number)
{
    if (!atomic_compare_exchange_strong(&p->name, &name, BUSY))
        return false;
    atomic_store_explicit(&p->number, number, memory_order_relaxed);
    atomic_store_explicit(&p->name, (uintptr_t)plan, memory_order_release);
    return true;
}

/* In the place that it has, or in a free one of the two, if there is one. */
static void put_near(const void *plan, uint64_t number)
{
    const uintptr_t name[] = { (uintptr_t)plan, 0 };
    for (int i = 0; i < 4; i++)
        if (name_place(cudnn_plans_near_of(plan, i % 2), name[i / 2], plan, number))
            return;
}

static void forget_near(const void *plan)
{
    for (int other = 0; other < 2; other++) {
        uintptr_t name = (uintptr_t)plan;
        atomic_compare_exchange_strong(&cudnn_plans_near_of(plan, other)->name, &name, 0);
    }
}

/* by: 1 or -1. A host destroys a descriptor after each execution, often where a plan lay before:
 * that one must not be remembered. */
static void count_known(const void *plan, int by)
{
    _Atomic uint8_t *known = &cudnn_plans_known[cudnn_plans_hash(plan, PASS_PLAN_KNOWN_BITS)];
    uint8_t now = atomic_load(known);
    while (now != UINT8_MAX && !atomic_compare_exchange_weak(known, &now, (uint8_t)(now + by)))
        continue;
}

void cudnn_plans_put(const void *plan, const struct tilewise_signature *key)
{
    struct entry e;
    if (!plan || (!find(&e, (uintptr_t)plan, plan) && !find(&e, 0, plan)))
        return;
    uintptr_t name = atomic_load_explicit(e.name, memory_order_relaxed);
    bool is_mine = name == 0 || name == (uintptr_t)plan;
    if (!is_mine || !atomic_compare_exchange_strong(e.name, &name, BUSY))
        return;
    uint64_t number = atomic_fetch_add(&numbers, 1) + 1;
    keep(number, key); /* before anybody can be told the number */
    atomic_exchange_explicit(e.number, number, memory_order_acq_rel);
    store(e.word, key);
    if (name == 0)
        count_known(plan, 1);
    atomic_store_explicit(e.name, (uintptr_t)plan, memory_order_release);
    put_near(plan, number);
}

void cudnn_plans_forget(const void *plan)
{
    uintptr_t name = (uintptr_t)plan;
    struct entry e;
    if (!plan)
        return;
    forget_near(plan);
    if (find(&e, name, plan) && atomic_compare_exchange_strong(e.name, &name, 0))
        count_known(plan, -1);
}
