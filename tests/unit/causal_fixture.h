/* SPDX-License-Identifier: Apache-2.0
 *
 * Traces of threads and of GPU windows, and what causal_measure() makes of them.
 */
#ifndef TILEWISE_TESTS_CAUSAL_FIXTURE_H
#define TILEWISE_TESTS_CAUSAL_FIXTURE_H

#include "trace_fixture.h"

#include "analysis/causal.h"
#include "analysis/shape.h"

/* A trace is written as a process would, and measured. Group 0 is the f32 gemm, 1 the f32 add, 2
 * the f32 collectives; 3 to 5 are their classes. */
enum { OPS = 3, US = 1000 };

struct scene {
    struct writer *w;
    struct trace_counters counters;
    uint32_t gemm, add, collective, kernel;
    const char *path;
};

static inline uint32_t define(struct writer *w, uint8_t op)
{
    struct tilewise_signature s = fixture_signature(1);
    uint32_t id;
    s.op = op;
    cr_assert_eq(writer_string(w, "entry", 5, &s.entry), ST_OK);
    cr_assert_eq(writer_signature(w, &s, &id), ST_OK);
    return id;
}

static inline struct scene open_scene(const char *name, unsigned shard)
{
    struct scene s = { .path = fixture_path(name) };
    s.w = fixture_open(open(s.path, O_RDWR | O_CREAT | O_TRUNC, 0600), shard);
    s.gemm = define(s.w, TILEWISE_OP_GEMM);
    s.add = define(s.w, TILEWISE_OP_ADD);
    s.collective = define(s.w, TILEWISE_OP_COLLECTIVE);
    cr_assert_eq(writer_string(s.w, "kernel", 6, &s.kernel), ST_OK);
    return s;
}

static inline void events(struct scene *s, uint32_t thread, const struct writer_event *rows,
                          size_t count)
{
    cr_assert_eq(writer_events(s->w, thread, 0, rows, count), ST_OK);
    s->counters.seen += count;
    s->counters.recorded += count;
}

static inline void frame(struct scene *s, uint64_t now_ns)
{
    cr_assert_eq(writer_flush(s->w, &s->counters, now_ns), ST_OK);
}

static inline void close_scene(struct scene *s, uint64_t now_ns)
{
    cr_assert_eq(writer_close(s->w, &s->counters, now_ns), ST_OK);
}

static inline struct causal *measure(const char *const *paths, size_t count)
{
    struct summary *s;
    struct fault fault = { .text = "" };
    static struct causal *c;
    causal_free(c);
    cr_assert_eq(summary_build(&s, paths, count, 0, &fault), ST_OK, "%s", fault.text);
    static const uint8_t ops[OPS] = { TILEWISE_OP_GEMM, TILEWISE_OP_ADD, TILEWISE_OP_COLLECTIVE };
    struct causal_group groups[2 * OPS] = { { 0 } };
    for (int i = 0; i < OPS; i++) {
        struct tilewise_signature shape = fixture_signature(1);
        shape.op = ops[i];
        groups[i] = (struct causal_group){ .op = ops[i], .dtype = TILEWISE_F32 };
        for (size_t k = 0; k < s->nops; k++)
            if (s->ops[k].op == ops[i])
                groups[i].time_ns = s->ops[k].time_ns;
        groups[OPS + i] = groups[i];
        groups[OPS + i].shape_class = shape_class_name(&shape);
    }
    cr_assert_eq(causal_measure(&c, s, groups, 2 * OPS, &fault), ST_OK, "%s", fault.text);
    summary_free(s);
    return c;
}

static inline struct causal *measure_one(const struct scene *s)
{
    return measure(&s->path, 1);
}

/* What all slices together say is what `idle` and the shares say. */
static inline void expect_whole(const struct causal *c)
{
    struct causal_span sum = { 0 };
    cr_assert_gt(c->nslices, 0);
    cr_assert_leq(c->nslices, CAUSAL_SLICES_MAX);
    for (size_t i = 0; i < c->nslices; i++) {
        const struct causal_span *one = &c->slices[i];
        cr_assert_leq(one->busy_ns, one->span_ns * 1.0001 + 1, "slice %zu", i);
        sum.span_ns += one->span_ns;
        sum.host_ns += one->host_ns;
        sum.communication_ns += one->communication_ns;
    }
    cr_assert_float_eq(sum.host_ns / sum.span_ns, c->idle.host, 0.001);
    cr_assert_float_eq(sum.communication_ns / sum.span_ns, c->idle.communication, 0.001);
}

static inline double active_ns(const struct causal *c, size_t group, size_t from, size_t to)
{
    double sum = 0;
    for (size_t i = from; i < to; i++)
        sum += c->active_ns[group * CAUSAL_SLICES_MAX + i];
    return sum;
}

#endif
