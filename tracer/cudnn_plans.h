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
#include "tracer/pass.h"
#include "traces/signature.h"

/* Number of what we know of a plan, of which the process has no other: of two executions with the
 * same one, what is known is the same. 0: no plan that we know. */
uint64_t cudnn_plans_get(const void *plan, struct tilewise_signature *out);
/* The same by the number, for the writer thread, when the plan may be gone. False: so many came
 * since that nobody knows. */
bool cudnn_plans_key(uint64_t number, struct tilewise_signature *out);
/* New, or in place of what was known. */
void cudnn_plans_put(const void *plan, const struct tilewise_signature *key);
/* The descriptor is about to be destroyed. */
void cudnn_plans_forget(const void *plan);

enum { CUDNN_PLANS_NUMBERS = 4096 /* the last ones that are known */ };
enum { CUDNN_PLANS_WAYS = 8, CUDNN_PLANS_SET_BITS = 10 };

/* The first plans of a process are found at a glance, each in one of two places, which are one
 * line. A place is a plan's until it is forgotten: so whoever executes the plan finds its number
 * beside its name. */
struct cudnn_plans_place {
    _Atomic uintptr_t name; /* 0 = free */
    _Atomic uint64_t number;
};
_Static_assert(sizeof(struct cudnn_plans_place) == 1 << PASS_PLAN_BYTES_LOG2 &&
                   offsetof(struct cudnn_plans_place, name) == 0 &&
                   offsetof(struct cudnn_plans_place, number) == PASS_PLAN_NUMBER,
               "pass_entry.S");
extern HOT_DATA struct cudnn_plans_place cudnn_plans_near[1 << PASS_PLAN_BITS];
/* How many known plans have an address of that hash; 255: so many or more, for good. */
extern HOT_DATA _Atomic uint8_t cudnn_plans_known[1 << PASS_PLAN_KNOWN_BITS];

/* The upper `bits`. */
static inline uint32_t cudnn_plans_hash(const void *descriptor, int bits)
{
    return (uint32_t)(uintptr_t)descriptor * PASS_NEAR_HASH >> (32 - bits);
}

/* Its place; `is_other`: the other one. */
static inline struct cudnn_plans_place *cudnn_plans_near_of(const void *plan, bool is_other)
{
    return &cudnn_plans_near[cudnn_plans_hash(plan, PASS_PLAN_BITS) ^ is_other];
}

/* False for most descriptors that are no plan that we know: at a glance. */
static inline bool cudnn_plans_may_know(const void *descriptor)
{
    uint32_t at = cudnn_plans_hash(descriptor, PASS_PLAN_KNOWN_BITS);
    return atomic_load_explicit(&cudnn_plans_known[at], memory_order_relaxed) != 0;
}

#endif
