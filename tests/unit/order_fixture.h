/* SPDX-License-Identifier: Apache-2.0
 *
 * Small traces whose work has an order, and the stretches that are found in them: for the tests of
 * replayer/sequence.c and order.c.
 */
#ifndef TILEWISE_TESTS_ORDER_FIXTURE_H
#define TILEWISE_TESTS_ORDER_FIXTURE_H

#include <criterion/criterion.h>
#include <fcntl.h>
#include <unistd.h>

#include "replay_fixture.h"
#include "replayer/sequence.h"
#include "traces/summary.h"
#include "traces/writer.h"

static char folder[] = "/tmp/tilewise-order-XXXXXX", trace_path[64], result_path[64];
static const char *trace = trace_path;
static uint32_t small, large, attention, hooked; /* hooked: a call of attention */
static struct plan *plan;
static struct sequences sequences;
static const struct sequence *sequence; /* the first */

static inline void set_up(void)
{
    cr_assert_not_null(mkdtemp(folder));
    snprintf(trace_path, sizeof trace_path, "%s/t.twt", folder);
    snprintf(result_path, sizeof result_path, "%s/r.twr", folder);
}

static inline void tear_down(void)
{
    sequences_free(&sequences);
    plan_free(plan);
    unlink(trace_path);
    unlink(result_path);
    rmdir(folder);
}

static inline uint32_t define(struct writer *w, int64_t m)
{
    struct tilewise_signature s = fixture_gemm(TILEWISE_F32, m, 4, 4);
    uint32_t id;
    s.beta = TILEWISE_SCALAR_UNREAD;
    cr_assert_eq(writer_string(w, "cblas_sgemm", 11, &s.entry), ST_OK);
    cr_assert_eq(writer_signature(w, &s, &id), ST_OK);
    return id;
}

/* 2 sequences x 4 heads. */
static inline void hook_attention(struct writer *w, int64_t keys)
{
    struct tilewise_signature s = signature_gemm(TILEWISE_COL_MAJOR, TILEWISE_BF16, 1, keys, 64);
    s.op = TILEWISE_OP_ATTENTION;
    s.batch = 8;
    s.batch_kind = TILEWISE_BATCH_STRIDED;
    s.flags = TILEWISE_NOT_REPLAYABLE;
    cr_assert_eq(writer_string(w, "cudnnBackendExecute", 19, &s.entry), ST_OK);
    cr_assert_eq(writer_signature(w, &s, &hooked), ST_OK);
}

static inline struct writer *start(void)
{
    struct writer *w;
    struct writer_options options = { .kind = TRACE_KIND_RECORDED, .shard = { .pid = 1000 } };
    int fd = open(trace, O_RDWR | O_CREAT | O_TRUNC, 0600);
    cr_assert_eq(writer_open(&w, fd, &options), ST_OK);
    small = define(w, 8);
    large = define(w, 16);
    cr_assert_eq(writer_string(w, "attention", 9, &attention), ST_OK);
    return w;
}

static inline void end(struct writer *w, uint64_t calls)
{
    struct trace_counters counters = { .seen = calls, .recorded = calls };
    struct writer_count count = { calls / 2, calls * 500, 1000, 1000, { { 0 } } };
    cr_assert_eq(writer_count(w, small, &count), ST_OK);
    cr_assert_eq(writer_count(w, large, &count), ST_OK);
    cr_assert_eq(writer_close(w, &counters, 100000000), ST_OK);
}

static bool eager; /* launched call by call; else by a graph */

/* Work of a window, in letters: s small (1 kernel), a attention, l large (2 kernels), h hooked
 * attention; of a graph. */
static inline void write_window(struct writer *w, const char *work)
{
    const struct gpu_source sources[] = {
        { .name = attention, .signature = small, .in_graph = !eager, .is_first = true },
        { .name = attention, .signature = GPU_NO_SIGNATURE, .in_graph = !eager },
        { .name = attention, .signature = large, .in_graph = !eager, .is_first = true },
        { .name = attention, .signature = large, .in_graph = !eager },
        { .name = attention, .signature = hooked, .in_graph = !eager, .is_first = true },
    };
    static const char letters[] = "sallh";
    static const uint32_t length[] = { 832, 6400, 1600, 96, 6400 };
    static uint64_t at = 64000;
    struct gpu_interval v[400];
    uint64_t start = at;
    size_t n = 0;
    for (; *work; work++)
        for (uint32_t k = 0; k < sizeof length / sizeof *length; k++) {
            if (letters[k] != *work)
                continue;
            v[n++] = (struct gpu_interval){ at, 64000, length[k], k };
            at += length[k] + 320;
        }
    struct gpu_window window = { start / 2, at, at - start, n, n, 0 };
    cr_assert_eq(writer_gpu_window(w, &window), ST_OK);
    cr_assert_eq(writer_gpu_intervals(w, &(struct gpu_intervals){ .window_ns = start / 2,
                                                                  .stream = 1,
                                                                  .nsources = 5,
                                                                  .sources = sources,
                                                                  .count = n,
                                                                  .interval = v }),
                 ST_OK);
    at += 64000;
}

static inline const char *repeated(const char *work, unsigned times)
{
    static char text[400];
    text[0] = '\0';
    while (times--)
        strcat(text, work);
    return text;
}

static inline void write_windows(unsigned steps)
{
    struct writer *w = start();
    write_window(w, repeated("sal", steps));
    end(w, 2 * steps);
}

static inline void write_events(unsigned steps)
{
    struct writer *w = start();
    struct writer_event events[400];
    uint64_t at = 1000;
    for (unsigned i = 0; i < 2 * steps; i++, at += 3000)
        events[i] = (struct writer_event){ .signature = i % 2 ? large : small,
                                           .start_ns = at,
                                           .duration_ns = i % 2 ? 2000 : 1000 };
    cr_assert_eq(writer_events(w, 0, 0, events, 2 * steps), ST_OK);
    struct trace_counters counters = { .seen = 2 * steps, .recorded = 2 * steps };
    cr_assert_eq(writer_close(w, &counters, 100000000), ST_OK);
}

static inline void find(void)
{
    struct summary *s;
    struct fault fault = { .text = "" };
    struct plan_options options = { .time_share = 1,
                                    .max_bytes = 1 << 26,
                                    .supports = fixture_supports };
    cr_assert_eq(summary_build(&s, &trace, 1, 0, &fault), ST_OK, "%s", fault.text);
    cr_assert_eq(plan_build(&plan, s, &options, &fault), ST_OK, "%s", fault.text);
    summary_free(s);
    cr_assert_eq(sequences_find(&sequences, plan, &trace, 1, &fault), ST_OK, "%s", fault.text);
    sequence = sequences.count ? sequences.row[0] : NULL;
}

#endif
