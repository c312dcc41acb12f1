/* SPDX-License-Identifier: Apache-2.0
 *
 * make_load TRACE.twt [RESULT.twr] [KEY=VALUE...]: a workload that nobody ran, and its replay, with
 * numbers that are known exactly, so that a verdict can be moved by one of them.
 *
 * One thread calls a gemm once in a round of 1 ms; nothing else is recorded unless asked for.
 */
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "traces/result.h"
#include "traces/writer.h"

/* clang-format off */
#define REALS(X) \
    /* the trace */ \
    X(heat, 0.42)      /* share of the wall time that the gemm takes */ \
    X(calls, 20000)    /* of the gemm */ \
    X(shapes, 4)       /* of equal time */ \
    X(drift, NAN)      /* bits by which neighbouring windows of 1,000 calls differ: two shapes */ \
    X(surprise, 0)     /* share of each of the last two windows in a shape that came up there */ \
    X(singles, 0)      /* share of the calls whose shape comes once */ \
    X(unknown, 0)      /* share of the recorded time in calls that cannot be replayed */ \
    X(lost, 0)         /* share of the calls that were dropped */ \
    X(slow, 1)         /* every call takes so many times as long, and the rounds with it */ \
    /* the replay */ \
    X(ratio, 1.25)     /* kernel over the best call: lower bound; the upper one is 2 % above */ \
    X(recorded, 1)     /* recorded call / best call */ \
    X(worst, NAN)      /* ratio on one shape of 2 % of the time: in the middle */ \
    X(replayed, 1)     /* share of the gemm's time that was replayed */ \
    X(headroom, 0.5)   /* 1 - ceiling / best call */ \
    X(deterministic, 1) \
    X(hi, NAN)         /* upper bound of the ratio, if not 2 % above */ \
    X(order, NAN)      /* gain in order / gain promised */ \
    X(covered, 0.9)    /* share of the recorded time that the order stands for */
#define TEXTS(X) \
    X(kernel, "gemm_f32_portable") \
    X(call, "") \
    X(status, "passed") \
    X(date, "2026-01-01T00:00:00Z") \
    X(device, "a processor") \
    X(core, "SkylakeX")
/* clang-format on */

static struct {
#define X(key, value) double key;
    REALS(X)
#undef X
#define X(key, value) char *key;
    TEXTS(X)
#undef X
} load = {
#define X(key, value) .key = value,
    REALS(X) TEXTS(X)
#undef X
};

static bool set(char *pair)
{
    char *value = strchr(pair, '='), *end = NULL;
    if (!value)
        return false;
    *value++ = '\0';
#define X(key, unused)                                                                             \
    if (strcmp(pair, #key) == 0) {                                                                 \
        load.key = strtod(value, &end);                                                            \
        return end != value && !*end;                                                              \
    }
    REALS(X)
#undef X
#define X(key, unused)                                                                             \
    if (strcmp(pair, #key) == 0) {                                                                 \
        load.key = value;                                                                          \
        return true;                                                                               \
    }
    TEXTS(X)
#undef X
    return false;
}

enum { ROUND_NS = 1000000, WINDOW = 1000, BATCH = 500 };

/* Shapes by number: those of the load, then these. */
enum { REST = 1000, WORST, SURPRISE, SINGLES = 2000 };

static struct tilewise_signature gemm(int64_t number)
{
    int64_t m = 8 * (number + 1); /* padding unites none of them */
    return signature_gemm(TILEWISE_ROW_MAJOR, TILEWISE_F32, m, 384, 128);
}

/* True for that share of all i, evenly. */
static bool falls(uint64_t i, double share)
{
    return floor((double)(i + 1) * share) > floor((double)i * share);
}

static double entropy(double p)
{
    return -p * log2(p) - (1 - p) * log2(1 - p);
}

/* Windows that hold two shapes as p to 1 - p and the other way round are 1 - H(p) bits apart. */
static double share_for_drift(double bits)
{
    double low = 1e-9, high = 0.5;
    for (int i = 0; i < 60; i++) {
        double p = (low + high) / 2;
        *(1 - entropy(p) > bits ? &low : &high) = p;
    }
    return low;
}

static int64_t drifting(uint64_t i)
{
    uint64_t window = i / WINDOW;
    bool often = falls(i % WINDOW, share_for_drift(load.drift));
    return (window % 2 == 0) == often;
}

static int64_t number_of(uint64_t i)
{
    static uint64_t plain;
    uint64_t calls = (uint64_t)load.calls;
    if (falls(i, load.singles))
        return SINGLES + (int64_t)i;
    if (i + 2 * WINDOW >= calls && falls(i, load.surprise))
        return SURPRISE + (i + WINDOW >= calls);
    if (falls(i, 1 - load.replayed))
        return REST;
    if (!isnan(load.worst) && falls(i, 0.02))
        return WORST;
    if (!isnan(load.drift))
        return drifting(i);
    return (int64_t)(plain++ % (uint64_t)load.shapes);
}

static double call_ns(void)
{
    return load.heat * ROUND_NS * load.slow;
}

struct trace {
    struct writer *w;
    uint32_t entry, other_entry, other;
    struct trace_counters counters;
};

static bool write_batch(struct trace *t, uint64_t first, uint64_t count)
{
    static struct writer_event events[2 * BATCH];
    size_t used = 0;
    uint64_t round_ns = (uint64_t)(ROUND_NS * load.slow);
    double other_ns = call_ns() * load.unknown / (1 - load.unknown);
    for (uint64_t i = first; i < first + count; i++) {
        struct tilewise_signature s = gemm(number_of(i));
        struct writer_event *e = &events[used++];
        *e = (struct writer_event){ .duration_ns = (uint32_t)call_ns(), .start_ns = i * round_ns };
        s.entry = t->entry;
        if (writer_signature(t->w, &s, &e->signature) != ST_OK)
            return false;
        if (load.unknown > 0)
            events[used++] =
                (struct writer_event){ t->other, (uint32_t)other_ns, e->start_ns + e->duration_ns };
    }
    t->counters.recorded += used;
    double seen = (double)t->counters.recorded / (1 - load.lost);
    t->counters.dropped[LOSS_NO_MEMORY] = (uint64_t)(seen - (double)t->counters.recorded + 0.5);
    t->counters.seen = t->counters.recorded + t->counters.dropped[LOSS_NO_MEMORY];
    return writer_events(t->w, 0, 0, events, used) == ST_OK &&
           writer_flush(t->w, &t->counters, (first + count) * round_ns) == ST_OK;
}

static bool write_trace(const char *path)
{
    struct trace t = { .w = NULL };
    struct writer_options options = { .kind = TRACE_KIND_RECORDED, .shard = { .pid = 1 } };
    struct tilewise_signature other = gemm(0);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    other.op = TILEWISE_OP_OTHER;
    other.flags = TILEWISE_NOT_REPLAYABLE;
    if (fd < 0 || writer_open(&t.w, fd, &options) != ST_OK ||
        writer_string(t.w, "cblas_sgemm", 11, &t.entry) != ST_OK ||
        writer_string(t.w, "other", 5, &t.other_entry) != ST_OK)
        return false;
    other.entry = t.other_entry;
    if (load.unknown > 0 && writer_signature(t.w, &other, &t.other) != ST_OK)
        return false;
    uint64_t calls = (uint64_t)load.calls;
    for (uint64_t i = 0; i < calls; i += BATCH)
        if (!write_batch(&t, i, calls - i < BATCH ? calls - i : BATCH))
            return false;
    return writer_close(t.w, &t.counters, (uint64_t)((double)calls * ROUND_NS * load.slow)) ==
           ST_OK;
}

static uint8_t find_name(const char *(*name)(unsigned), unsigned count, const char *text)
{
    for (unsigned i = 0; i < count; i++)
        if (strcmp(name(i), text) == 0)
            return (uint8_t)i;
    fprintf(stderr, "make_load: no such word: %s\n", text);
    exit(EXIT_FAILURE);
}

static uint8_t call_of(double lo, double hi)
{
    if (load.call[0])
        return find_name(result_call_name, 5, load.call);
    return lo > 1.01 ? RESULT_FASTER : hi < 0.99 ? RESULT_SLOWER : RESULT_SAME;
}

static bool put_case(struct result_writer *w, int64_t number, double ratio)
{
    double best_ns = call_ns() / load.recorded, lo = ratio;
    double hi = isnan(load.hi) ? 1.02 * lo : load.hi, mid = (lo + hi) / 2;
    struct result_candidate c = {
        .name = load.kernel,
        .reason = "",
        .status = find_name(result_status_name, 7, load.status),
        .deterministic = load.deterministic != 0,
        .rounds = 40,
        .time_ns = best_ns / mid,
        .ratio_best = mid,
        .best_lo = lo,
        .best_hi = hi,
        .ratio_recorded = mid * load.recorded,
        .recorded_lo = lo * load.recorded,
        .recorded_hi = hi * load.recorded,
        .worst_error = 0.1,
    };
    c.call = c.status == RESULT_PASSED ? call_of(lo, hi) : RESULT_CALL_NONE;
    struct result_case row = {
        .signature = gemm(number),
        .entry = "cblas_sgemm",
        .status = RESULT_PASSED,
        .reason = "",
        .baseline_best = "sgemm",
        .baseline_best_ns = best_ns,
        .baseline_recorded_ns = call_ns(),
        .clock_mhz = NAN,
        .slowed_share = NAN,
        .gpu_time_ns = NAN,
        .kernel_ns = NAN,
        .kernels = "",
        .noise = 0.001,
        .recorded_ns = NAN,
        .ncandidates = 1,
        .candidates = &c,
    };
    return result_put_case(w, &row) == ST_OK;
}

/* A stretch whose kernels gain `order` of what the middle of their ratios promises: of busy time.
 */
static bool put_order(struct result_writer *w)
{
    double won = load.replayed - (isnan(load.worst) ? 0 : 0.02);
    double saved =
        load.order * (1 - load.unknown) * won * (1 - 1 / (1.01 * load.ratio * load.recorded));
    double ratio = 1 / (1 - saved);
    const struct result_order row = {
        .source = "thread 0 of process 1",
        .reason = "",
        .status = RESULT_PASSED,
        .calls = 4,
        .repeats = 1000,
        .recorded_ns = 4 * call_ns(),
        .kernel_ns = NAN,
        .baseline_ns = 4 * call_ns(),
        .chosen_ns = 4 * call_ns() / ratio,
        .ratio = ratio,
        .ratio_lo = ratio / 1.002,
        .ratio_hi = ratio * 1.002,
        .noise = 0.001,
        .rounds = 40,
        .time_share = load.covered,
    };
    return result_put_order(w, &row) == ST_OK;
}

static bool write_result(const char *path)
{
    struct result_writer *w;
    const struct result_run run = {
        .tilewise_version = TILEWISE_VERSION,
        .date_utc = load.date,
        .command = "make_load",
        .host = "",
        .backend = "cpu",
        .device = load.device,
        .baseline_library = "a library",
        .baseline_core = load.core,
        .protocol = "none",
        .threads = 1,
        .planned_time_share = load.replayed,
        .noise_floor = 0.001,
        .trace_device = "",
    };
    const struct result_ceiling ceiling = {
        .dtype = TILEWISE_F32,
        .rate_flops = 1e24,
        .bandwidth_bytes_per_s = 1e24,
        .floor_ns = (1 - load.headroom) * call_ns() / load.recorded,
    };
    if (result_create(&w, path, NULL) != ST_OK || result_put_run(w, &run) != ST_OK ||
        result_put_ceiling(w, &ceiling) != ST_OK)
        return false;
    int64_t shapes = isnan(load.drift) ? (int64_t)load.shapes : 2;
    for (int64_t i = 0; i < shapes; i++)
        if (!put_case(w, i, load.ratio))
            return false;
    if ((!isnan(load.worst) && !put_case(w, WORST, load.worst / 1.01)) ||
        (!isnan(load.order) && !put_order(w)))
        return false;
    return result_close(w) == ST_OK;
}

int main(int argc, char **argv)
{
    int first = argc > 2 && !strchr(argv[2], '=') ? 3 : 2;
    for (int i = first; i < argc; i++)
        if (!set(argv[i])) {
            fprintf(stderr, "make_load: not KEY=VALUE, or not a key: %s\n", argv[i]);
            return 64;
        }
    if (argc < 2) {
        fputs("usage: make_load TRACE.twt [RESULT.twr] [KEY=VALUE...]\n", stderr);
        return 64;
    }
    if (write_trace(argv[1]) && (first == 2 || write_result(argv[2])))
        return EXIT_SUCCESS;
    fputs("make_load: cannot be written\n", stderr);
    return EXIT_FAILURE;
}
