/* SPDX-License-Identifier: Apache-2.0
 *
 * The execution plans of this process by the address of their descriptor: what each one does, found
 * out once when it is finalized. A plan that found no place here is counted without a shape. Any
 * thread, no lock; an address that is used again never answers for the plan before.
 */
#ifndef TILEWISE_TRACER_CUDNN_PLANS_H
#define TILEWISE_TRACER_CUDNN_PLANS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tracer/hot.h"
#include "traces/signature.h"

/* Number of what we know of a plan, of which the process has no other; 0: no plan that we know. */
uint64_t cudnn_plans_get(const void *plan, struct tilewise_signature *out);
/* The same by the number, for the writer thread, when the plan may be gone. False: so many came
 * since that nobody knows. */
bool cudnn_plans_key(uint64_t number, struct tilewise_signature *out);
/* New, or in place of what was known. */
void cudnn_plans_put(const void *plan, const struct tilewise_signature *key);
/* The descriptor is about to be destroyed. */
void cudnn_plans_forget(const void *plan);

enum { CUDNN_PLANS_NUMBERS = 4096 /* the last ones that are known */ };
enum { CUDNN_PLANS_WAYS = 8, CUDNN_PLANS_SET_BITS = 10, CUDNN_PLANS_MET_BITS = 12 };

/* The keys lie elsewhere. */
struct cudnn_plans_set {
    _Alignas(HOT_LINE) _Atomic uintptr_t name[CUDNN_PLANS_WAYS]; /* 0 = free */
    _Atomic uint64_t number[CUDNN_PLANS_WAYS];
};
extern struct cudnn_plans_set cudnn_plans_sets[1 << CUDNN_PLANS_SET_BITS]
    __attribute__((visibility("hidden")));
/* A bit for each address that was ever a plan's; several share one. */
extern HOT_DATA _Atomic uint64_t cudnn_plans_met[(1 << CUDNN_PLANS_MET_BITS) / 64];

/* The upper `bits`. */
static inline uint32_t cudnn_plans_hash(const void *descriptor, int bits)
{
    return (uint32_t)((uint64_t)(uintptr_t)descriptor * 0x9e3779b97f4a7c15u >> (64 - bits));
}

static inline struct cudnn_plans_set *cudnn_plans_set_of(const void *plan)
{
    return &cudnn_plans_sets[cudnn_plans_hash(plan, CUDNN_PLANS_SET_BITS)];
}

/* False for most descriptors that are no plan that we know: at a glance. */
static inline bool cudnn_plans_may_know(const void *descriptor)
{
    uint32_t bit = cudnn_plans_hash(descriptor, CUDNN_PLANS_MET_BITS);
    return atomic_load_explicit(&cudnn_plans_met[bit / 64], memory_order_relaxed) >> bit % 64 & 1;
}

/* The number alone: of two executions with the same one, what is known is the same. */
static inline uint64_t cudnn_plans_number(const void *plan)
{
    const struct cudnn_plans_set *set = cudnn_plans_set_of(plan);
    if (!plan)
        return 0;
    for (int i = 0; i < CUDNN_PLANS_WAYS; i++)
        if (atomic_load_explicit(&set->name[i], memory_order_acquire) == (uintptr_t)plan) {
            uint64_t number = atomic_load_explicit(&set->number[i], memory_order_acquire);
            /* Another plan may have taken the place meanwhile. */
            return atomic_load_explicit(&set->name[i], memory_order_relaxed) == (uintptr_t)plan
                       ? number
                       : 0;
        }
    return 0;
}

#endif
