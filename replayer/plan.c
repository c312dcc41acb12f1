/* SPDX-License-Identifier: Apache-2.0 */
#include "replayer/plan.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "replayer/plan_add.h"
#include "replayer/verify.h"

static const uint64_t memory_when_unknown_bytes = 1u << 30;

uint64_t plan_memory_budget(uint64_t max_bytes)
{
    unsigned long long available_kib = 0;
    char line[128];
    FILE *file = fopen("/proc/meminfo", "re");
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "MemAvailable: %llu kB", &available_kib) == 1)
            break;
    if (file)
        fclose(file);
    uint64_t budget = available_kib / 10 * 8 * 1024;
    if (budget == 0)
        budget = memory_when_unknown_bytes;
    return max_bytes && max_bytes < budget ? max_bytes : budget;
}

/* The recorder does not follow pointers. What is most common is assumed, and said. */
static void resolve_scalars(struct plan_item *item)
{
    struct tilewise_signature *s = &item->signature;
    if (s->alpha != TILEWISE_SCALAR_UNREAD && s->beta != TILEWISE_SCALAR_UNREAD)
        return;
    if (s->alpha == TILEWISE_SCALAR_UNREAD)
        s->alpha = TILEWISE_SCALAR_ONE;
    if (s->beta == TILEWISE_SCALAR_UNREAD)
        s->beta = s->op == TILEWISE_OP_ADD ? TILEWISE_SCALAR_ONE : TILEWISE_SCALAR_ZERO;
    size_t used = strlen(item->reason); /* what else was assumed */
    snprintf(item->reason + used, sizeof item->reason - used,
             "%salpha and beta were not recorded: replayed as %d and %d", used ? "; " : "",
             s->alpha == TILEWISE_SCALAR_ONE, s->beta == TILEWISE_SCALAR_ONE);
}

/* Bytes that one case takes. SIZE_MAX when they do not fit a size_t. */
static size_t case_bytes(const struct operand shapes[OPERAND_COUNT])
{
    size_t total = 0;
    for (int i = 0; i < OPERAND_COUNT; i++)
        if (__builtin_add_overflow(total, shapes[i].bytes, &total) || total > SIZE_MAX / 64)
            return SIZE_MAX;
    int64_t results = 0;
    const struct operand *c = &shapes[OPERAND_C];
    if (__builtin_mul_overflow(c->rows, c->cols, &results) || results > INT64_MAX / 64)
        return SIZE_MAX;
    return verify_bytes(shapes);
}

static void judge(struct plan_item *item, const struct plan_options *options)
{
    struct operand shapes[OPERAND_COUNT];
    struct fault fault = { .text = "" };
    uint8_t op = item->signature.op;
    item->fate = PLAN_UNSUPPORTED;
    if (op != TILEWISE_OP_GEMM && op != TILEWISE_OP_GEMV && op != TILEWISE_OP_ADD) {
        snprintf(item->reason, sizeof item->reason,
                 "%s is counted and timed, not replayed: gemm, gemv and add are",
                 tilewise_op_name(op));
        return;
    }
    if (item->signature.flags & TILEWISE_NOT_REPLAYABLE) {
        snprintf(item->reason, sizeof item->reason,
                 "the recorder did not understand the whole "
                 "call");
        return;
    }
    resolve_scalars(item);
    if (!options->supports(&item->signature, item->reason, sizeof item->reason))
        return;
    if (operand_layout(&item->signature, shapes, &fault) != ST_OK) {
        snprintf(item->reason, sizeof item->reason, "%.150s", fault.text);
        return;
    }
    item->case_bytes = case_bytes(shapes);
    item->fate = PLAN_MEASURE;
    if (item->case_bytes <= options->max_bytes)
        return;
    item->fate = PLAN_TOO_LARGE;
    snprintf(item->reason, sizeof item->reason,
             "needs %.4g MiB, the memory budget is %.4g MiB (--max-bytes)",
             (double)item->case_bytes / 1048576, (double)options->max_bytes / 1048576);
}

static size_t find_twin(const struct plan *plan, size_t index)
{
    const struct tilewise_signature *s = &plan->items[index].signature;
    for (size_t i = 0; i < index; i++)
        if (plan->items[i].fate == PLAN_MEASURE && signature_equal(&plan->items[i].signature, s))
            return i;
    return index;
}

static int by_time(const void *a, const void *b)
{
    const struct plan_item *x = a, *y = b;
    return x->time_ns != y->time_ns ? (x->time_ns < y->time_ns ? 1 : -1) : 0;
}

/* Work on a GPU counts with the time of its kernels instead of that of the calls, which only
 * enqueue it. */
static void use_gpu_time(struct plan *plan, const struct summary *summary)
{
    double gpu_ns = 0, total_ns = 0;
    for (size_t i = 0; i < plan->nitems; i++) {
        double ns = summary_gpu_time_ns(&summary->signatures[i]);
        plan->items[i].gpu_time_ns = isfinite(ns) ? ns : 0;
        gpu_ns += plan->items[i].gpu_time_ns;
    }
    if (gpu_ns <= 0)
        return;
    for (size_t i = 0; i < plan->nitems; i++) {
        struct plan_item *item = &plan->items[i];
        if (item->on_gpu)
            item->time_ns = (uint64_t)item->gpu_time_ns;
        total_ns += (double)item->time_ns;
    }
    for (size_t i = 0; i < plan->nitems; i++)
        plan->items[i].time_share = total_ns > 0 ? (double)plan->items[i].time_ns / total_ns : 0;
    qsort(plan->items, plan->nitems, sizeof *plan->items, by_time);
}

static void choose(struct plan *plan, const struct plan_options *options)
{
    for (size_t i = 0; i < plan->nitems; i++) {
        struct plan_item *item = &plan->items[i];
        item->twin = i;
        /* A hair of slack: a share of 1 must not miss the last item by a rounding. */
        bool enough = plan->planned_time_share >= options->time_share - 1e-9 && plan->nplanned;
        if (enough) {
            item->fate = PLAN_REST;
            snprintf(item->reason, sizeof item->reason,
                     "behind the planned %.4g %% of the recorded time (--time-share)",
                     100 * options->time_share);
            continue;
        }
        judge(item, options);
        if (item->fate != PLAN_MEASURE)
            continue;
        item->twin = find_twin(plan, i);
        plan->items[item->twin].work_share += item->time_share;
        plan->nworks += item->twin == i;
        plan->planned_time_share += item->time_share;
        plan->nplanned++;
    }
}

static bool copy_items(struct plan *plan, const struct summary *summary,
                       const struct plan_options *options)
{
    plan->items = calloc(summary->nsignatures, sizeof *plan->items);
    if (plan->items == NULL)
        return false;
    for (size_t i = 0; i < summary->nsignatures; i++) {
        const struct summary_signature *from = &summary->signatures[i];
        struct plan_item *item = &plan->items[i];
        uint32_t entry = from->signature.entry;
        char *name = strdup(entry < summary->nstrings ? summary->strings[entry] : "");
        if (name == NULL)
            return false;
        item->entry = name;
        plan->nitems = i + 1;
        item->signature = from->signature;
        item->signature.entry = options->entry ? options->entry(name) : 0;
        item->on_gpu = options->is_on_gpu && options->is_on_gpu(summary, &from->signature);
        if (item->signature.batch_kind == TILEWISE_BATCH_NONE)
            item->signature.batch = 1;
        item->recorded = item->signature;
        item->recorded.entry = 0;
        plan_add_resolve(item, summary, (uint32_t)i, options->entry);
        item->calls = from->calls;
        item->time_ns = from->time_ns;
        item->time_share = summary->time_ns ? (double)from->time_ns / (double)summary->time_ns : 0;
    }
    return true;
}

enum status plan_build(struct plan **out, const struct summary *summary,
                       const struct plan_options *options, struct fault *fault)
{
    if (summary->nsignatures == 0)
        return fault_set(fault, ST_INVALID, "the trace holds no calls; nothing to replay");
    struct plan *plan = calloc(1, sizeof *plan);
    if (plan == NULL || !copy_items(plan, summary, options)) {
        plan_free(plan);
        return fault_set(fault, ST_NOMEM, "out of memory");
    }
    use_gpu_time(plan, summary);
    choose(plan, options);
    *out = plan;
    return ST_OK;
}

struct tilewise_signature plan_recorded(const struct plan_item *item)
{
    return item->recorded;
}

void plan_free(struct plan *plan)
{
    if (plan == NULL)
        return;
    for (size_t i = 0; i < plan->nitems; i++)
        free((char *)plan->items[i].entry);
    free(plan->items);
    free(plan);
}
