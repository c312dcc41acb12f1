/* SPDX-License-Identifier: Apache-2.0 */
#include "traces/gpubook.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "traces/gpucode.h"

enum { KERNELS_MAX = 1 << 16 };

struct pair {
    uint32_t name, signature;
};

struct grid_key {
    uint32_t pair;
    struct gpu_grid grid;
};

static const struct intern_limits grid_limits = { SUMMARY_GRIDS_MAX,
                                                  SUMMARY_GRIDS_MAX * sizeof(struct grid_key) };
static const struct intern_limits pair_limits = { KERNELS_MAX, KERNELS_MAX * sizeof(struct pair) };
static const struct intern_limits name_limits = { TRACE_STRINGS_MAX, TRACE_STRINGS_BYTES_MAX };

void gpubook_free(struct gpubook *g)
{
    intern_free(&g->pairs);
    intern_free(&g->grids);
    buffer_free(&g->totals);
    buffer_free(&g->grid_totals);
    *g = (struct gpubook){ 0 };
}

static struct summary_kernel *kernel_at(const struct gpubook *g, uint32_t i)
{
    return (struct summary_kernel *)g->totals.bytes + i;
}

static struct summary_grid *grid_at(const struct gpubook *g, uint32_t i)
{
    return (struct summary_grid *)g->grid_totals.bytes + i;
}

static void add_row(struct summary_kernel *total, const struct gpu_kernel *row)
{
    total->launches += row->launches;
    total->calls += row->calls;
    total->measured += row->measured;
    total->time_ns += row->sum_ns;
    if (row->measured == 0)
        return;
    total->min_ns = row->min_ns < total->min_ns ? row->min_ns : total->min_ns;
    total->max_ns = row->max_ns > total->max_ns ? row->max_ns : total->max_ns;
}

static enum status add_grid(struct gpubook *g, uint32_t pair, const struct gpu_kernel *row)
{
    if (g->too_many_grids || !gpucode_grid_is_known(&row->grid))
        return ST_OK;
    const struct summary_grid blank = { .grid = row->grid };
    if (!buffer_reserve(&g->grid_totals, sizeof blank))
        return ST_NOMEM;
    uint32_t at, known = (uint32_t)g->grids.count;
    const struct grid_key key = { pair, row->grid };
    enum status st = intern_add(&g->grids, &key, sizeof key, &grid_limits, &at);
    g->too_many_grids = st == ST_LIMIT;
    if (st != ST_OK)
        return st == ST_LIMIT ? ST_OK : st;
    if (at == known)
        buffer_put(&g->grid_totals, &blank, sizeof blank);
    struct summary_grid *total = grid_at(g, at);
    total->launches += row->launches;
    total->measured += row->measured;
    total->time_ns += row->sum_ns;
    return ST_OK;
}

static enum status add_kernel(struct gpubook *g, struct intern *names, const struct reader *r,
                              const struct gpu_kernel *row, const uint32_t *index)
{
    static const struct summary_kernel blank = { .min_ns = UINT64_MAX };
    const char *name = reader_string(r, row->name);
    struct pair pair = { .signature = row->signature == GPU_NO_SIGNATURE ? GPU_NO_SIGNATURE
                                                                         : index[row->signature] };
    uint32_t at, known = g->pairs.count;
    enum status st = intern_add(names, name, strlen(name), &name_limits, &pair.name);
    if (st == ST_OK && !buffer_reserve(&g->totals, sizeof blank))
        st = ST_NOMEM;
    if (st == ST_OK)
        st = intern_add(&g->pairs, &pair, sizeof pair, &pair_limits, &at);
    if (st != ST_OK)
        return st;
    if (at == known)
        buffer_put(&g->totals, &blank, sizeof blank);
    add_row(kernel_at(g, at), row);
    return add_grid(g, at, row);
}

static void add_intervals(struct gpubook *g, const struct gpu_intervals *v)
{
    struct summary_gpu *sum = &g->timeline;
    sum->missing += v->missing;
    g->open_streams = v->stream > g->open_streams ? v->stream : g->open_streams;
    for (size_t i = 0; i < v->count; i++) {
        uint8_t work = v->sources[v->interval[i].source].work;
        sum->intervals += work == GPU_KERNEL;
        sum->copies += work == GPU_COPY;
        sum->fills += work == GPU_FILL;
        sum->copy_ns += work == GPU_KERNEL ? 0 : v->interval[i].duration_ns;
    }
}

enum status gpubook_add(struct gpubook *g, struct intern *names, const struct reader *r,
                        const struct reader_frame *frame, const uint32_t *index)
{
    enum status st = ST_OK;
    for (size_t i = 0; st == ST_OK && i < frame->nkernels; i++)
        st = add_kernel(g, names, r, &frame->kernels[i], index);
    for (size_t i = 0; i < frame->ngpu_windows; i++)
        gpubusy_add(&g->busy, &frame->gpu_windows[i]);
    for (size_t i = 0; i < frame->nintervals; i++)
        add_intervals(g, &frame->intervals[i]);
    if (frame->gpu_totals && frame->gpu_totals->launches >= g->open.launches)
        g->open = *frame->gpu_totals;
    return st;
}

void gpubook_end_shard(struct gpubook *g)
{
    gpubusy_end_shard(&g->busy);
    gpu_totals_add(&g->closed, &g->open);
    g->open = (struct gpu_totals){ 0 };
    g->timeline.streams += g->open_streams;
    g->open_streams = 0;
}

static int compare_kernels(const void *left, const void *right)
{
    const struct summary_kernel *a = left, *b = right;
    if (a->time_ns != b->time_ns)
        return a->time_ns > b->time_ns ? -1 : 1;
    if (a->name != b->name)
        return a->name < b->name ? -1 : 1;
    return (a->signature > b->signature) - (a->signature < b->signature);
}

static void add_to_signature(struct summary *s, const struct summary_kernel *k)
{
    s->gpu.kernel_ns += k->time_ns;
    if (k->signature == GPU_NO_SIGNATURE)
        return;
    s->gpu.attributed_ns += k->time_ns;
    s->signatures[k->signature].gpu_calls += k->calls;
    s->signatures[k->signature].gpu_measured_ns += k->time_ns;
}

static int compare_grids(const void *left, const void *right)
{
    const struct summary_grid *a = left, *b = right;
    if (a->name != b->name)
        return a->name < b->name ? -1 : 1;
    if (a->time_ns != b->time_ns)
        return a->time_ns > b->time_ns ? -1 : 1;
    if (a->signature != b->signature)
        return a->signature < b->signature ? -1 : 1;
    return memcmp(&a->grid, &b->grid, sizeof a->grid);
}

/* `kernels`: still in the order of the pairs. */
static enum status make_grids(const struct gpubook *g, struct summary *s)
{
    size_t count = g->too_many_grids ? 0 : g->grids.count;
    s->grids = malloc((count ? count : 1) * sizeof *s->grids);
    if (!s->grids)
        return ST_NOMEM;
    for (uint32_t i = 0; i < count; i++) {
        const struct grid_key *key = intern_get(&g->grids, i, NULL);
        s->grids[i] = *grid_at(g, i);
        s->grids[i].name = s->kernels[key->pair].name;
        s->grids[i].signature = s->kernels[key->pair].signature;
    }
    s->ngrids = count;
    if (count)
        qsort(s->grids, count, sizeof *s->grids, compare_grids);
    return ST_OK;
}

enum status gpubook_make(struct gpubook *g, struct summary *s, const uint32_t *name_rank,
                         const uint32_t *rank)
{
    s->kernels = malloc((g->pairs.count ? g->pairs.count : 1) * sizeof *s->kernels);
    if (!s->kernels)
        return ST_NOMEM;
    s->nkernels = g->pairs.count;
    s->gpu = g->timeline;
    for (uint32_t i = 0; i < g->pairs.count; i++) {
        const struct pair *pair = intern_get(&g->pairs, i, NULL);
        struct summary_kernel *k = &s->kernels[i];
        *k = *kernel_at(g, i);
        k->name = name_rank[pair->name];
        k->signature =
            pair->signature == GPU_NO_SIGNATURE ? GPU_NO_SIGNATURE : rank[pair->signature];
        k->min_ns = k->measured ? k->min_ns : 0;
        add_to_signature(s, k);
    }
    if (make_grids(g, s) != ST_OK)
        return ST_NOMEM;
    if (s->nkernels)
        qsort(s->kernels, s->nkernels, sizeof *s->kernels, compare_kernels);
    s->gpu.totals = g->closed;
    s->gpu.busy_share = gpubusy_share(&g->busy, &s->gpu.busy_lo, &s->gpu.busy_hi);
    return ST_OK;
}

double summary_gpu_time_ns(const struct summary_signature *s)
{
    return s->gpu_calls ? (double)s->gpu_measured_ns * ((double)s->calls / (double)s->gpu_calls)
                        : NAN;
}
