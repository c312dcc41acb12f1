/* SPDX-License-Identifier: Apache-2.0 */
#include "replayer/order.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "replayer/clock.h"
#include "replayer/order_filler.h"
#include "replayer/rotation.h"

static const double target = 0.0025;   /* +- of a ln ratio */
static const double timing_part = 0.6; /* of the time behind the set-up; the rest is CUPTI's */
enum { ARM_BASE, ARM_TWIN, ARM_CHOSEN, ARMS };
enum { ROUNDS_MIN = 8, ROUNDS_MAX = 128, PASSES = 6, SHARED_PARTS = 16 };

/* The signature of one item with its buffers. */
struct part {
    const struct plan_item *item;
    const struct tilewise_candidate *candidate;
    struct backend_session *session;
    struct rotation rotation;
    enum operand_name weights;     /* OPERAND_COUNT: it has none */
    enum operand_name shared;      /* the other input; OPERAND_COUNT: it has none */
    unsigned char *activations;    /* where that lies, for all parts */
    size_t activation_bytes, next; /* next: set of the next call */
    size_t kernels;                /* of one call */
};

struct stage {
    const struct order_job *job;
    const struct backend *backend;
    struct backend_session *leader;
    struct backend_info info;
    struct order_outcome *out;
    size_t nparts;
    struct part parts[ORDER_PARTS_MAX];
    size_t *part_of;             /* per step; ORDER_PARTS_MAX: a filler, */
    struct order_filler *filler; /* which is this */
    struct order_fillers fillers;
    size_t filler_kernels;
    double end_ns; /* of the budget */
    unsigned arm;
    struct part *alone; /* only this one is called; NULL: a filler */
};

/* ---- one pass ---- */

static int call_part(struct stage *g, struct part *p, bool chosen)
{
    struct tilewise_args args = p->rotation.args;
    const struct rotation *r = &p->rotation;
    unsigned char *own = r->memory + p->next * r->set_bytes;
    p->next = p->next + 1 == r->sets ? 0 : p->next + 1;
    unsigned char *a = p->weights == OPERAND_A ? own : r->memory;
    unsigned char *b = p->weights == OPERAND_B ? own : r->memory;
    args.a = r->present[OPERAND_A] ? a + r->offset[OPERAND_A] : NULL;
    args.b = r->present[OPERAND_B] ? b + r->offset[OPERAND_B] : a + r->offset[OPERAND_A];
    args.c = r->memory + r->offset[OPERAND_C];
    if (p->shared == OPERAND_A)
        args.a = p->activations;
    if (p->shared == OPERAND_B)
        args.b = p->activations;
    return chosen ? p->candidate->run(p->candidate, &p->item->signature, &args)
                  : g->backend->baseline(p->session, 0, &args);
}

static bool is_filler(const struct stage *g, size_t step)
{
    return g->part_of[step] == ORDER_PARTS_MAX;
}

static int fill(struct stage *g, size_t step)
{
    size_t count = g->job->sequence->count, next = step + 1 < count ? step + 1 : 0;
    const struct part *p = is_filler(g, next) ? NULL : &g->parts[g->part_of[next]];
    return order_filler_run(&g->fillers, &g->filler[step], p ? p->activations : NULL,
                            p ? p->activation_bytes : 0);
}

static int pass(void *context)
{
    struct stage *g = context;
    const struct sequence *s = g->job->sequence;
    int failed = 0;
    for (size_t i = 0; i < s->count && !failed; i++) {
        if (is_filler(g, i)) {
            failed = fill(g, i);
            continue;
        }
        struct part *p = &g->parts[g->part_of[i]];
        failed = call_part(g, p, g->arm == ARM_CHOSEN && p->candidate);
    }
    return failed;
}

static int one_call(void *context)
{
    struct stage *g = context;
    const struct order_filler least = { .traffic = ORDER_NEAR_READ };
    return g->alone ? call_part(g, g->alone, false)
                    : order_filler_run(&g->fillers, &least, NULL, 0);
}

static struct backend_burst burst_of(struct stage *g, uint64_t passes)
{
    bool in_graph = g->job->sequence->in_graph;
    for (size_t i = 0; i < g->nparts; i++)
        g->parts[i].next = 0; /* the same buffers in every burst */
    order_filler_rewind(&g->fillers);
    return (struct backend_burst){ pass,   g,
                                   passes, g->arm,
                                   false,  in_graph ? BACKEND_IN_A_GRAPH : BACKEND_CALL_BY_CALL };
}

static double timed(void *context, unsigned arm, uint64_t passes)
{
    struct stage *g = context;
    g->arm = arm;
    struct backend_burst burst = burst_of(g, passes);
    return g->backend->burst(g->leader, &burst);
}

/* ---- set up ---- */

/* The larger input of a single product; batches multiply activations by each other. */
static enum operand_name weights_of(const struct tilewise_signature *s)
{
    struct operand shapes[OPERAND_COUNT];
    if (s->op == TILEWISE_OP_ADD || s->batch_kind != TILEWISE_BATCH_NONE ||
        operand_layout(s, shapes, NULL) != ST_OK)
        return OPERAND_COUNT;
    bool b = shapes[OPERAND_B].present && shapes[OPERAND_B].bytes > shapes[OPERAND_A].bytes;
    return b ? OPERAND_B : OPERAND_A;
}

static enum status open_session(struct stage *g, struct part *p, struct fault *fault)
{
    struct backend_routines routines;
    enum status st = g->backend->open(&p->session, &g->job->setup->open, fault);
    if (st == ST_OK && g->leader && g->backend->join)
        st = g->backend->join(p->session, g->leader);
    if (st != ST_OK)
        return st;
    if (!g->leader) {
        g->leader = p->session;
        g->backend->describe(g->leader, &g->info); /* the scratch of a candidate depends on it */
    }
    return g->backend->prepare(p->session, &p->item->signature, &routines);
}

static enum status open_part(struct stage *g, struct part *p, size_t places, struct fault *fault)
{
    const struct tilewise_signature *s = &p->item->signature;
    const struct tilewise_candidate *c = p->candidate;
    struct operand shapes[OPERAND_COUNT];
    struct rotation_options buffers = { .max_bytes = g->job->setup->max_bytes / SHARED_PARTS,
                                        .seed = g->job->setup->seed };
    enum status st = open_session(g, p, fault);
    if (st == ST_OK)
        st = operand_layout(s, shapes, fault);
    if (st != ST_OK)
        return st;
    p->weights = weights_of(s);
    p->shared = p->weights == OPERAND_COUNT ? OPERAND_COUNT
                : p->weights == OPERAND_A   ? OPERAND_B
                                            : OPERAND_A;
    if (p->shared != OPERAND_COUNT && !shapes[p->shared].present)
        p->shared = OPERAND_COUNT;
    p->activation_bytes = p->shared == OPERAND_COUNT ? 0 : shapes[p->shared].bytes;
    for (int i = 0; p->weights != OPERAND_COUNT && places > 1 && i < OPERAND_COUNT; i++)
        buffers.footprint_bytes += shapes[i].present ? (places - 1) * shapes[i].bytes : 0;
    if (c && !measure_begin_candidate(c))
        return fault_set(fault, ST_UNSUPPORTED, "%.60s: %.190s", c->name,
                         candidates_complaint(c, "refused this machine"));
    buffers.scratch_bytes = c && c->scratch_bytes ? c->scratch_bytes(c, s, g->info.threads) : 0;
    st = rotation_open(&p->rotation, g->backend, p->session, s, &buffers);
    return st == ST_OK ? st : fault_set(fault, st, "the buffers of a shape do not fit");
}

static size_t find_part(struct stage *g, size_t item)
{
    for (size_t i = 0; i < g->nparts; i++)
        if (g->out->part[i].item == item)
            return i;
    if (g->nparts == ORDER_PARTS_MAX)
        return ORDER_PARTS_MAX;
    const struct tilewise_candidate *c = g->job->choice[item];
    g->parts[g->nparts] = (struct part){ .item = &g->job->plan->items[item], .candidate = c };
    g->out->part[g->nparts] = (struct order_part){ .item = item, .kernel_ns = NAN, .chosen = c };
    return g->nparts++;
}

/* Which part each step is; steps of shapes beyond the most that fit are fillers. */
static bool assign(struct stage *g)
{
    const struct sequence *s = g->job->sequence;
    g->part_of = calloc(s->count, sizeof *g->part_of);
    g->filler = calloc(s->count, sizeof *g->filler);
    for (size_t i = 0; g->part_of && g->filler && i < s->count; i++) {
        bool filler = s->steps[i].item == SEQUENCE_FILLER;
        size_t at = filler ? ORDER_PARTS_MAX : find_part(g, (size_t)s->steps[i].item);
        g->part_of[i] = at;
        if (at == ORDER_PARTS_MAX)
            continue;
        g->out->part[at].calls++;
        g->out->part[at].recorded_ns += s->steps[i].ns;
    }
    for (size_t i = 0; i < g->nparts; i++)
        g->out->part[i].recorded_ns /= (double)g->out->part[i].calls;
    return g->part_of && g->filler;
}

static uint8_t shared_dtype(const struct part *p)
{
    const struct tilewise_signature *s = &p->item->signature;
    return p->shared == OPERAND_A ? s->dtype_a : s->dtype_b;
}

/* The largest buffer for activations of a type serves all of that type, each as aligned as it was
 * recorded. */
static void share_activations(struct stage *g)
{
    for (size_t i = 0; i < g->nparts; i++) {
        struct part *p = &g->parts[i];
        const struct part *owner = p;
        for (size_t k = 0; p->shared != OPERAND_COUNT && k < g->nparts; k++) {
            const struct part *other = &g->parts[k];
            if (other->shared != OPERAND_COUNT && shared_dtype(other) == shared_dtype(p) &&
                other->activation_bytes > owner->activation_bytes)
                owner = other;
        }
        if (p->shared == OPERAND_COUNT)
            continue;
        size_t at = owner->rotation.offset[owner->shared];
        p->activations = owner->rotation.memory + at / DATA_ALIGN_BYTES * DATA_ALIGN_BYTES +
                         p->rotation.offset[p->shared] % DATA_ALIGN_BYTES;
    }
}

/* "27 near copy of 2.1 MB, 2 operand write of 32.4 MB": how many, and their mean traffic. */
static void describe_fillers(struct stage *g)
{
    size_t count[ORDER_TRAFFIC_COUNT] = { 0 }, used = 0, room = sizeof g->out->traffic;
    double bytes[ORDER_TRAFFIC_COUNT] = { 0 };
    for (size_t i = 0; i < g->job->sequence->count; i++)
        if (is_filler(g, i)) {
            count[g->filler[i].traffic]++;
            bytes[g->filler[i].traffic] += (double)g->filler[i].bytes;
        }
    for (int t = 0; t < ORDER_TRAFFIC_COUNT; t++)
        if (count[t] && used < room)
            used += (size_t)snprintf(g->out->traffic + used, room - used, "%s%zu %s of %.1f MB",
                                     used ? ", " : "", count[t],
                                     order_traffic_name((enum order_traffic)t),
                                     bytes[t] / (double)count[t] / 1e6);
}

/* Kernels between calls work on a few tensors of the size that calls exchange. */
static enum status make_fillers(struct stage *g)
{
    enum { ACTIVATIONS_ALIVE = 2 };
    const struct sequence *s = g->job->sequence;
    struct order_filler_options options = {
        .cache_bytes = (size_t)g->info.cache_bytes,
        .max_bytes = (size_t)(g->job->setup->max_bytes / SHARED_PARTS),
        .least_ns = s->least_filler_ns,
        .arm = ARMS,
    };
    for (size_t i = 0; i < g->nparts; i++)
        if (g->parts[i].activation_bytes * ACTIVATIONS_ALIVE > options.near_bytes)
            options.near_bytes = g->parts[i].activation_bytes * ACTIVATIONS_ALIVE;
    enum status st = order_filler_open(&g->fillers, g->backend, g->leader, &options);
    if (st != ST_OK)
        return st;
    order_fillers_for(&g->fillers, s, g->filler);
    describe_fillers(g);
    return ST_OK;
}

static enum status set_up(struct stage *g, struct fault *fault)
{
    if (!assign(g))
        return fault_set(fault, ST_NOMEM, "out of memory");
    if (g->nparts == 0 || g->backend->touch == NULL)
        return fault_set(fault, ST_UNSUPPORTED, "nothing of it can be replayed in order");
    enum status st = ST_OK;
    for (size_t i = 0; st == ST_OK && i < g->nparts; i++)
        st = open_part(g, &g->parts[i], g->out->part[i].calls, fault);
    if (st != ST_OK)
        return st;
    share_activations(g);
    st = make_fillers(g);
    return st == ST_OK ? st : fault_set(fault, st, "the fillers cannot be made");
}

static void tear_down(struct stage *g)
{
    for (size_t i = g->nparts; i-- > 0;) {
        rotation_close(&g->parts[i].rotation);
        if (i > 0)
            g->backend->close(g->parts[i].session);
    }
    order_filler_close(&g->fillers);
    if (g->leader)
        g->backend->close(g->leader);
    free(g->part_of);
    free(g->filler);
}

/* ---- measure ---- */

static enum status time_passes(struct stage *g)
{
    struct order_outcome *out = g->out;
    struct timing_samples samples;
    bool any_choice = false;
    for (size_t i = 0; i < g->nparts; i++)
        any_choice = any_choice || g->parts[i].candidate;
    struct timing_options options = {
        .arms = any_choice ? ARMS : ARM_CHOSEN,
        .burst_ns = g->info.burst_ns,
        .budget_ns = timing_part * (g->end_ns - clock_now_ns(NULL)),
        .target = target,
        .min_rounds = ROUNDS_MIN,
        .max_rounds = ROUNDS_MAX,
        .seed = g->job->setup->seed,
    };
    struct timing_source source = { g, timed, clock_now_ns };
    enum status st = timing_measure(&source, &options, &samples);
    if (st != ST_OK)
        return st;
    out->rounds = samples.rounds;
    out->baseline_ns = timing_median_ns(&samples, ARM_BASE);
    out->noise = timing_noise(&samples, ARM_BASE, ARM_TWIN);
    if (!any_choice)
        return ST_OK;
    out->chosen_ns = timing_median_ns(&samples, ARM_CHOSEN);
    out->ratio = timing_ratio(&samples, ARM_BASE, ARM_CHOSEN, 0.95, g->job->setup->seed);
    return ST_OK;
}

/* How many kernels a call of each part is, and a filler. */
static bool count_kernels(struct stage *g)
{
    struct backend_burst burst = { one_call, g, 1, ARMS, false, BACKEND_CALL_BY_CALL };
    for (size_t i = 0; i < g->nparts; i++) {
        g->alone = &g->parts[i];
        if (g->backend->kernels(g->leader, &burst, &g->parts[i].kernels) == NULL)
            return false;
    }
    g->alone = NULL;
    return g->backend->kernels(g->leader, &burst, &g->filler_kernels) != NULL;
}

/* The kernels of all passes but the first, in their order, to the calls that they belong to. */
static bool attribute(struct stage *g, const struct backend_kernel *kernel, size_t count)
{
    const struct sequence *s = g->job->sequence;
    double sum[ORDER_PARTS_MAX] = { 0 };
    size_t at = 0;
    for (int p = 0; p < PASSES; p++)
        for (size_t i = 0; i < s->count; i++) {
            size_t part = g->part_of[i];
            size_t own = is_filler(g, i) ? g->filler_kernels : g->parts[part].kernels;
            if (at + own > count)
                return false;
            for (size_t k = 0; k < own; k++, at++)
                if (p && !is_filler(g, i))
                    sum[part] += kernel[at].ns;
        }
    if (at != count)
        return false;
    g->out->kernel_ns = 0;
    for (size_t i = 0; i < g->nparts; i++) {
        struct order_part *part = &g->out->part[i];
        part->kernel_ns = sum[i] / ((double)part->calls * (PASSES - 1));
        g->out->kernel_ns += sum[i] / (PASSES - 1);
    }
    return true;
}

/* After the timing: see backend->kernels. Where calls are work on the host, nothing is known. */
static void time_kernels(struct stage *g)
{
    size_t count = 0;
    if (g->backend->kernels == NULL)
        return;
    g->arm = ARM_BASE;
    struct backend_burst burst = burst_of(g, PASSES);
    const struct backend_kernel *kernels =
        count_kernels(g) ? g->backend->kernels(g->leader, &burst, &count) : NULL;
    if (kernels == NULL || !attribute(g, kernels, count))
        snprintf(g->out->reason, sizeof g->out->reason,
                 "kernel times in order are not known: %zu kernels do not fit the calls", count);
}

void order_measure(void *job, void *message)
{
    const struct order_job *j = job;
    struct order_outcome *out = message;
    struct fault fault = { .text = "" };
    struct stage g = { .job = j, .backend = j->setup->backend, .out = out };
    g.end_ns = clock_now_ns(NULL) + j->budget_ns;
    *out = (struct order_outcome){ .kernel_ns = NAN };
    out->baseline_ns = out->chosen_ns = out->noise = NAN;
    out->ratio = (struct stats_interval){ NAN, NAN, NAN };
    enum status st = set_up(&g, &fault);
    if (st == ST_OK && (st = time_passes(&g)) != ST_OK)
        fault_set(&fault, st, "a pass failed: %s", status_text(st));
    if (st == ST_OK)
        time_kernels(&g);
    else
        snprintf(out->reason, sizeof out->reason, "%.190s", fault.text);
    out->status = st == ST_OK ? RESULT_PASSED : RESULT_SKIPPED;
    out->nparts = g.nparts;
    tear_down(&g);
}
