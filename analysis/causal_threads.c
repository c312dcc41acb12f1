/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/causal_threads.h"

#include <stdlib.h>
#include <string.h>

enum { SLOTS_MAX = 1024, SUMS_MAX = 1 << 21 };

/* A thread with calls in the busy period that is open. */
struct slot {
    uint32_t thread, group[2]; /* groups of the call that ends last */
    uint64_t end_ns;
};

struct causal_threads {
    size_t groups;
    uint64_t wall_ns, process_ns; /* process_ns: where the process begins in the whole */
    /* The open busy period. */
    struct slot *slots;
    double *sums; /* per slot and group: time of its calls */
    size_t nslots, slots_capacity;
    uint32_t *touched; /* groups with calls in it */
    bool *is_touched;
    size_t ntouched;
    uint64_t begin_ns, end_ns, closed_ns; /* closed_ns: end of the one before */
    size_t block;

    double *saved_ns, *called_ns;               /* per group and block */
    double busy_ns[CAUSAL_THREADS_BLOCKS];      /* per block: union of all calls, */
    double computing_ns[CAUSAL_THREADS_BLOCKS]; /* of those that compute */
    uint64_t quiet_ns;                          /* end of the latter */
    struct causal_threads_totals totals;
};

enum status causal_threads_open(struct causal_threads **out, size_t groups, uint64_t wall_ns)
{
    struct causal_threads *t = *out = calloc(1, sizeof *t);
    if (!t)
        return ST_NOMEM;
    t->groups = groups;
    t->wall_ns = wall_ns ? wall_ns : 1;
    t->touched = calloc(groups + 1, sizeof *t->touched);
    t->is_touched = calloc(groups + 1, sizeof *t->is_touched);
    t->saved_ns = calloc(groups * CAUSAL_THREADS_BLOCKS + 1, sizeof *t->saved_ns);
    t->called_ns = calloc(groups * CAUSAL_THREADS_BLOCKS + 1, sizeof *t->called_ns);
    if (t->touched && t->is_touched && t->saved_ns && t->called_ns)
        return ST_OK;
    causal_threads_close(t);
    *out = NULL;
    return ST_NOMEM;
}

void causal_threads_close(struct causal_threads *t)
{
    if (!t)
        return;
    free(t->slots);
    free(t->sums);
    free(t->touched);
    free(t->is_touched);
    free(t->saved_ns);
    free(t->called_ns);
    free(t);
}

static size_t block_of(const struct causal_threads *t, uint64_t at_ns)
{
    double share = (double)at_ns / (double)t->wall_ns;
    size_t block = share < 1 ? (size_t)(share * CAUSAL_THREADS_BLOCKS) : CAUSAL_THREADS_BLOCKS;
    return block < CAUSAL_THREADS_BLOCKS ? block : CAUSAL_THREADS_BLOCKS - 1;
}

/* Add a stretch of time to the blocks that it lies in. */
static void spread(const struct causal_threads *t, double *blocks, uint64_t from_ns, uint64_t to_ns)
{
    while (from_ns < to_ns) {
        size_t block = block_of(t, from_ns);
        double edge = (double)(block + 1) * (double)t->wall_ns / CAUSAL_THREADS_BLOCKS;
        uint64_t until = block + 1 < CAUSAL_THREADS_BLOCKS ? (uint64_t)edge + 1 : to_ns;
        until = until > from_ns && until < to_ns ? until : to_ns; /* absurd times: no edge */
        blocks[block] += (double)(until - from_ns);
        from_ns = until;
    }
}

/* A busy period that goes on for longer than a block is cut. */
static uint64_t cut_ns(const struct causal_threads *t)
{
    return t->begin_ns + t->wall_ns / CAUSAL_THREADS_BLOCKS + 1;
}

static double *sums_of(const struct causal_threads *t, size_t slot)
{
    return t->sums + slot * t->groups;
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* When would the period, which is over at `limit_ns`, end with the calls of this group scaled? */
static double scaled_end(const struct causal_threads *t, uint32_t group, uint64_t limit_ns)
{
    double end = (double)t->begin_ns;
    for (size_t i = 0; i < t->nslots; i++) {
        double one =
            (double)least(t->slots[i].end_ns, limit_ns) - (1 - CAUSAL_SCALE) * sums_of(t, i)[group];
        end = one > end ? one : end;
    }
    return end;
}

/* Forget the calls, not which threads there are. */
static void clear_sums(struct causal_threads *t)
{
    for (size_t i = 0; i < t->ntouched; i++) {
        t->is_touched[t->touched[i]] = false;
        for (size_t slot = 0; slot < t->nslots; slot++)
            sums_of(t, slot)[t->touched[i]] = 0;
    }
    t->ntouched = 0;
}

static void add_to_slot(struct causal_threads *t, size_t slot, const uint32_t *group, uint64_t ns)
{
    for (int i = 0; i < 2; i++) {
        sums_of(t, slot)[group[i]] += (double)ns;
        if (!t->is_touched[group[i]]) {
            t->is_touched[group[i]] = true;
            t->touched[t->ntouched++] = group[i];
        }
    }
}

/* Keep the threads whose last call runs beyond `at_ns`, with what is left of that call. */
static void carry_over(struct causal_threads *t, uint64_t at_ns)
{
    size_t kept = 0;
    clear_sums(t);
    for (size_t i = 0; i < t->nslots; i++)
        if (t->slots[i].end_ns > at_ns)
            t->slots[kept++] = t->slots[i];
    t->nslots = kept;
    for (size_t i = 0; i < kept; i++)
        add_to_slot(t, i, t->slots[i].group, t->slots[i].end_ns - at_ns);
    t->begin_ns = at_ns;
}

/* The period is over; what is still running at `at_ns` begins the next one. */
static void end_period(struct causal_threads *t, uint64_t at_ns)
{
    uint64_t end_ns = least(t->end_ns, at_ns);
    for (size_t i = 0; i < t->nslots; i++) {
        const struct slot *s = &t->slots[i];
        for (int k = 0; k < 2 && s->end_ns > at_ns; k++)
            sums_of(t, i)[s->group[k]] -= (double)(s->end_ns - at_ns);
    }
    for (size_t i = 0; i < t->ntouched; i++) {
        uint32_t g = t->touched[i];
        t->saved_ns[g * CAUSAL_THREADS_BLOCKS + t->block] +=
            ((double)end_ns - scaled_end(t, g, at_ns)) / (1 - CAUSAL_SCALE);
    }
    t->totals.busy_ns += end_ns - t->begin_ns;
    spread(t, t->busy_ns, t->begin_ns, end_ns);
    t->closed_ns = end_ns;
    carry_over(t, at_ns);
}

static void cut_until(struct causal_threads *t, uint64_t until_ns)
{
    while (t->nslots && cut_ns(t) < until_ns && cut_ns(t) > t->begin_ns) {
        end_period(t, cut_ns(t));
        t->block = block_of(t, t->begin_ns);
    }
}

static void close_period(struct causal_threads *t)
{
    cut_until(t, t->end_ns);
    if (t->nslots)
        end_period(t, t->end_ns);
}

static enum status grow(struct causal_threads *t)
{
    size_t more = t->slots_capacity ? 2 * t->slots_capacity : 4;
    if (more > SLOTS_MAX || more * t->groups > SUMS_MAX) {
        t->totals.too_many_threads = true;
        return ST_OK;
    }
    void *slots = realloc(t->slots, more * sizeof *t->slots);
    if (slots)
        t->slots = slots;
    double *sums = realloc(t->sums, (more * t->groups + 1) * sizeof *sums);
    if (sums)
        t->sums = sums;
    if (!slots || !sums)
        return ST_NOMEM;
    size_t old = t->slots_capacity * t->groups;
    memset(sums + old, 0, (more * t->groups - old) * sizeof *sums);
    t->slots_capacity = more;
    return ST_OK;
}

static size_t find_slot(struct causal_threads *t, uint32_t thread)
{
    for (size_t i = 0; i < t->nslots; i++)
        if (t->slots[i].thread == thread)
            return i;
    t->slots[t->nslots] = (struct slot){ .thread = thread };
    return t->nslots++;
}

/* Union of the calls that compute, for what is communication alone. */
static void add_computing(struct causal_threads *t, uint64_t start_ns, uint64_t end_ns)
{
    if (start_ns < t->quiet_ns)
        start_ns = t->quiet_ns;
    if (end_ns <= start_ns)
        return;
    spread(t, t->computing_ns, start_ns, end_ns);
    t->quiet_ns = end_ns;
}

enum status causal_threads_add(struct causal_threads *t, const struct causal_call *call)
{
    uint64_t start = t->process_ns + call->start_ns, end = start + call->duration_ns;
    spread(t, t->called_ns + (size_t)call->group[0] * CAUSAL_THREADS_BLOCKS, start, end);
    if (t->nslots && start > t->end_ns)
        close_period(t);
    cut_until(t, start);
    if (start < t->closed_ns) {
        uint64_t from = least(t->closed_ns, end);
        t->totals.late_ns += from - start;
        start = from;
    }
    if (t->nslots == 0) {
        t->begin_ns = t->end_ns = start;
        t->block = block_of(t, start);
    }
    if (t->nslots == t->slots_capacity) {
        enum status st = grow(t);
        if (st != ST_OK || t->totals.too_many_threads)
            return st;
    }
    struct slot *s = &t->slots[find_slot(t, call->thread)];
    uint64_t from = start > s->end_ns ? start : s->end_ns; /* a thread does one thing at a time */
    if (end > from || s->end_ns == 0) {
        add_to_slot(t, (size_t)(s - t->slots), call->group, end > from ? end - from : 0);
        memcpy(s->group, call->group, sizeof s->group);
        s->end_ns = end > from ? end : from;
        t->end_ns = s->end_ns > t->end_ns ? s->end_ns : t->end_ns;
    }
    if (!call->is_communication)
        add_computing(t, start, end);
    return ST_OK;
}

void causal_threads_begin_process(struct causal_threads *t)
{
    t->closed_ns = t->quiet_ns = t->process_ns;
}

void causal_threads_end_process(struct causal_threads *t, uint64_t wall_ns)
{
    if (t->nslots)
        close_period(t);
    t->process_ns += wall_ns;
}

const double *causal_threads_saved_ns(const struct causal_threads *t, uint32_t group)
{
    return t->saved_ns + (size_t)group * CAUSAL_THREADS_BLOCKS;
}

const double *causal_threads_called_ns(const struct causal_threads *t, uint32_t group)
{
    return t->called_ns + (size_t)group * CAUSAL_THREADS_BLOCKS;
}

struct causal_threads_block causal_threads_block(const struct causal_threads *t, size_t block)
{
    double idle = t->busy_ns[block] - t->computing_ns[block];
    return (struct causal_threads_block){ t->busy_ns[block], idle > 0 ? idle : 0 };
}

struct causal_threads_totals causal_threads_totals(const struct causal_threads *t)
{
    struct causal_threads_totals totals = t->totals;
    double computing_ns = 0;
    for (size_t i = 0; i < CAUSAL_THREADS_BLOCKS; i++)
        computing_ns += t->computing_ns[i];
    totals.communication_ns =
        (double)totals.busy_ns > computing_ns ? totals.busy_ns - (uint64_t)(computing_ns + 0.5) : 0;
    return totals;
}
