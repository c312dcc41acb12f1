/* SPDX-License-Identifier: Apache-2.0 */
#include "traces/gpucode.h"

#include "traces/format.h"

bool gpucode_kernel_is_sound(const struct gpu_kernel *k)
{
    return k->measured <= k->launches && k->calls <= k->measured && k->min_ns <= k->max_ns &&
           k->max_ns <= k->sum_ns && k->sum_ns <= TRACE_TIME_MAX_NS &&
           (k->signature == GPU_NO_SIGNATURE || k->signature < TRACE_SIGNATURES_MAX);
}

/* launches = records + dropped, without overflow. */
static bool add_up(uint64_t launches, uint64_t records, uint64_t dropped)
{
    return records <= launches && dropped == launches - records;
}

bool gpucode_window_is_sound(const struct gpu_window *w)
{
    return w->begin_ns <= w->end_ns && w->end_ns <= TRACE_TIME_MAX_NS &&
           w->busy_ns <= TRACE_TIME_MAX_NS && add_up(w->launches, w->records, w->dropped);
}

bool gpucode_totals_are_sound(const struct gpu_totals *t)
{
    return add_up(t->launches, t->records, t->dropped) && t->untimed <= t->records &&
           t->window_ns <= TRACE_TIME_MAX_NS && t->busy_ns <= TRACE_TIME_MAX_NS;
}

static void put(struct buffer *out, const uint64_t *value, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        buffer_put_varint(out, value[i]);
}

static bool get(struct cursor *in, uint64_t *value, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        value[i] = cursor_varint(in);
    return !in->bad;
}

void gpucode_put_kernel(struct buffer *out, const struct gpu_kernel *k)
{
    uint64_t signature = k->signature == GPU_NO_SIGNATURE ? 0 : (uint64_t)k->signature + 1;
    put(out,
        (uint64_t[]){ k->name, signature, k->launches, k->calls, k->measured, k->sum_ns, k->min_ns,
                      k->max_ns - k->min_ns },
        8);
}

bool gpucode_get_kernel(struct cursor *in, struct gpu_kernel *k)
{
    uint64_t v[8];
    if (!get(in, v, 8) || v[0] >= TRACE_STRINGS_MAX || v[1] > TRACE_SIGNATURES_MAX ||
        v[7] > UINT64_MAX - v[6])
        return false;
    *k = (struct gpu_kernel){ .name = (uint32_t)v[0],
                              .signature = v[1] ? (uint32_t)v[1] - 1 : GPU_NO_SIGNATURE,
                              .launches = v[2],
                              .calls = v[3],
                              .measured = v[4],
                              .sum_ns = v[5],
                              .min_ns = v[6],
                              .max_ns = v[6] + v[7] };
    return gpucode_kernel_is_sound(k);
}

bool gpucode_grid_is_known(const struct gpu_grid *g)
{
    return g->grid[0] || g->block[0];
}

/* An unknown one is a single 0. */
void gpucode_put_grid(struct buffer *out, const struct gpu_grid *g)
{
    if (!gpucode_grid_is_known(g)) {
        buffer_put_varint(out, 0);
        return;
    }
    put(out,
        (uint64_t[]){ (uint64_t)g->grid[0] + 1, g->grid[1], g->grid[2], g->block[0], g->block[1],
                      g->block[2], g->shared_bytes },
        7);
}

bool gpucode_get_grid(struct cursor *in, struct gpu_grid *g)
{
    *g = (struct gpu_grid){ 0 };
    uint64_t x = cursor_varint_max(in, (uint64_t)UINT32_MAX + 1);
    if (x == 0)
        return !in->bad;
    g->grid[0] = (uint32_t)(x - 1);
    g->grid[1] = (uint32_t)cursor_varint_max(in, UINT32_MAX);
    g->grid[2] = (uint32_t)cursor_varint_max(in, UINT32_MAX);
    for (unsigned i = 0; i < 3; i++)
        g->block[i] = (uint32_t)cursor_varint_max(in, UINT32_MAX);
    g->shared_bytes = (uint32_t)cursor_varint_max(in, UINT32_MAX);
    return !in->bad;
}

void gpucode_put_window(struct buffer *out, const struct gpu_window *w)
{
    put(out,
        (uint64_t[]){ w->begin_ns, w->end_ns - w->begin_ns, w->busy_ns, w->launches, w->records,
                      w->dropped },
        6);
}

bool gpucode_get_window(struct cursor *in, struct gpu_window *w)
{
    uint64_t v[6];
    if (!get(in, v, 6) || v[1] > UINT64_MAX - v[0])
        return false;
    *w = (struct gpu_window){ v[0], v[0] + v[1], v[2], v[3], v[4], v[5] };
    return gpucode_window_is_sound(w);
}

void gpucode_put_totals(struct buffer *out, const struct gpu_totals *t)
{
    put(out,
        (uint64_t[]){ t->launches, t->records, t->dropped, t->untimed, t->windows, t->window_ns,
                      t->busy_ns },
        7);
}

bool gpucode_get_totals(struct cursor *in, struct gpu_totals *t)
{
    uint64_t v[7];
    if (!get(in, v, 7))
        return false;
    *t = (struct gpu_totals){ v[0], v[1], v[2], v[3], v[4], v[5], v[6] };
    return gpucode_totals_are_sound(t);
}
