/* SPDX-License-Identifier: Apache-2.0
 *
 * What to replay: the signatures of a trace, largest recorded time first, until a stated share of
 * the time is planned. Nothing is dropped silently: what is not planned stays in the list with the
 * reason. Sizes are computed with checked arithmetic before anything is allocated.
 */
#ifndef TILEWISE_REPLAYER_PLAN_H
#define TILEWISE_REPLAYER_PLAN_H

#include "replayer/operand.h"
#include "traces/summary.h"

enum plan_fate {
    PLAN_MEASURE,
    PLAN_REST,        /* behind the planned share */
    PLAN_UNSUPPORTED, /* cannot be replayed at all, or not on this backend */
    PLAN_TOO_LARGE,   /* does not fit the memory budget */
};

struct plan_item {
    /* As it will be replayed: entry 0, batch at least 1, alpha and beta of a known class. */
    struct tilewise_signature signature;
    struct tilewise_signature recorded; /* entry 0: the name of the row in results */
    const char *entry;                  /* entry point; lives as long as the plan */
    bool on_gpu;                        /* the call only enqueues its work there */
    uint64_t calls;
    uint64_t time_ns;   /* recorded: of the calls; of work on a GPU that of the kernels, where the
                           trace has any */
    double time_share;  /* of all recorded time */
    double gpu_time_ns; /* of the kernels; 0: not recorded */
    size_t case_bytes;  /* memory that verifying one candidate takes */
    size_t twin; /* earlier planned item that differs in nothing but the entry; else own index */
    double work_share; /* time_share of this item and of the later ones whose twin it is */
    enum plan_fate fate;
    char reason[160]; /* why not measured; a remark for a measured one */
};

struct plan {
    size_t nitems, nplanned; /* items: largest time first */
    size_t nworks;           /* of the planned ones, those that are nobody's twin */
    struct plan_item *items;
    double planned_time_share;
};

struct plan_options {
    double time_share;  /* 0..1 */
    uint64_t max_bytes; /* for one case */
    /* Backend's word: see backend.h. `entry` may be NULL. */
    uint32_t (*entry)(const char *name);
    /* Does this call of the trace launch work on a GPU? NULL: none does. */
    bool (*is_on_gpu)(const struct summary *s, const struct tilewise_signature *signature);
    bool (*supports)(const struct tilewise_signature *s, char *why, size_t why_bytes);
};

/* NOMEM; INVALID if the trace holds no calls. */
enum status plan_build(struct plan **out, const struct summary *summary,
                       const struct plan_options *options, struct fault *fault);
/* The signature as it stands in the trace, its entry 0: nothing that was assumed for the replay. */
struct tilewise_signature plan_recorded(const struct plan_item *item);
void plan_free(struct plan *plan); /* accepts NULL */

/* Default memory budget: 80 % of what the system says is available, at most `max_bytes` unless
 * that is 0. */
uint64_t plan_memory_budget(uint64_t max_bytes);

#endif
