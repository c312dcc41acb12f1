/* SPDX-License-Identifier: Apache-2.0
 *
 * A struct summary built call by call, for tests of the analysis. Every window lasts
 * FIXTURE_WINDOW_NS; wall time is that of all windows; one process.
 */
#ifndef TILEWISE_TESTS_SUMMARY_FIXTURE_H
#define TILEWISE_TESTS_SUMMARY_FIXTURE_H

#include <stdlib.h>
#include <string.h>

#include "traces/summary.h"

enum { FIXTURE_SIGNATURES = 1200, FIXTURE_WINDOWS = 64, FIXTURE_WINDOW_NS = 1000000 };

struct fixture {
    struct summary s;
    struct summary_signature signatures[FIXTURE_SIGNATURES];
    struct summary_cell cells[FIXTURE_WINDOWS][FIXTURE_SIGNATURES];
    struct summary_window windows[FIXTURE_WINDOWS];
    struct summary_op ops[48];
    struct summary_shard shard;
    const char *strings[4];
    struct reader_fact facts[4];
};

static inline struct tilewise_signature fixture_gemm(int64_t m, int64_t n, int64_t k)
{
    struct tilewise_signature s = signature_gemm(TILEWISE_ROW_MAJOR, TILEWISE_F32, m, n, k);
    s.entry = 1;
    return s;
}

static inline struct fixture *fixture_new(size_t windows)
{
    static struct fixture *kept[64]; /* in sight of leak checkers */
    static size_t count;
    struct fixture *f = calloc(1, sizeof *f);
    if (!f || count == sizeof kept / sizeof *kept)
        abort();
    kept[count++] = f;
    f->strings[0] = "";
    f->strings[1] = "cblas_sgemm";
    f->shard.path = "fixture.twt";
    f->s = (struct summary){ .nshards = 1,
                             .shards = &f->shard,
                             .signatures = f->signatures,
                             .windows = f->windows,
                             .nwindows = windows,
                             .ops = f->ops,
                             .strings = f->strings,
                             .nstrings = 2,
                             .facts = f->facts,
                             .complete = true };
    for (size_t w = 0; w < windows; w++) {
        f->windows[w].begin_unix_ns = 1000 + w * (uint64_t)FIXTURE_WINDOW_NS;
        f->windows[w].end_unix_ns = f->windows[w].begin_unix_ns + FIXTURE_WINDOW_NS;
        f->windows[w].cells = f->cells[w];
    }
    f->s.wall_ns = windows * (uint64_t)FIXTURE_WINDOW_NS;
    return f;
}

static inline uint32_t fixture_signature(struct fixture *f, const struct tilewise_signature *s)
{
    for (size_t i = 0; i < f->s.nsignatures; i++)
        if (memcmp(&f->signatures[i].signature, s, sizeof *s) == 0)
            return (uint32_t)i;
    f->signatures[f->s.nsignatures].signature = *s;
    return (uint32_t)f->s.nsignatures++;
}

/* `calls` calls of `ns_each` in window w. */
static inline void fixture_calls(struct fixture *f, size_t w, const struct tilewise_signature *s,
                                 uint64_t calls, uint64_t ns_each)
{
    uint32_t index = fixture_signature(f, s);
    struct summary_signature *row = &f->signatures[index];
    struct summary_window *window = &f->windows[w];
    f->cells[w][window->ncells++] =
        (struct summary_cell){ .signature = index, .calls = calls, .time_ns = calls * ns_each };
    row->calls += calls;
    row->time_ns += calls * ns_each;
    row->histogram.count[histogram_bucket(ns_each)] += calls;
    window->calls += calls;
    window->time_ns += calls * ns_each;
    f->s.calls += calls;
    f->s.time_ns += calls * ns_each;
}

/* Sums per op, counters: after the last call. Durations are taken not to overlap. */
static inline const struct summary *fixture_done(struct fixture *f)
{
    for (size_t i = 0; i < f->s.nsignatures; i++) {
        const struct summary_signature *row = &f->signatures[i];
        size_t o = 0;
        while (o < f->s.nops &&
               (f->ops[o].op != row->signature.op || f->ops[o].dtype != row->signature.dtype_c))
            o++;
        f->s.nops += o == f->s.nops;
        f->ops[o].op = row->signature.op;
        f->ops[o].dtype = row->signature.dtype_c;
        f->ops[o].calls += row->calls;
        f->ops[o].time_ns += row->time_ns;
        f->ops[o].active_ns += row->time_ns;
    }
    f->s.busy_ns = f->s.time_ns;
    f->s.counters.seen = f->s.counters.recorded = f->s.calls;
    return &f->s;
}

/* The same `shapes` shapes in each of `windows` windows, equal time. */
static inline struct fixture *fixture_uniform(size_t windows, int shapes)
{
    struct fixture *f = fixture_new(windows);
    for (size_t w = 0; w < windows; w++)
        for (int i = 0; i < shapes; i++) {
            struct tilewise_signature s = fixture_gemm(8 * (i + 1), 384, 384);
            fixture_calls(f, w, &s, 100, 50);
        }
    fixture_done(f);
    return f;
}

/* All signatures, as a group. */
static inline const uint32_t *fixture_all(const struct fixture *f)
{
    static uint32_t all[FIXTURE_SIGNATURES];
    for (size_t i = 0; i < f->s.nsignatures; i++)
        all[i] = (uint32_t)i;
    return all;
}

#endif
