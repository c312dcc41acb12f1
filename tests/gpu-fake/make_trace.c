/* SPDX-License-Identifier: Apache-2.0
 *
 * make_trace [--events|--windows|--eager] FILE CALL...: a trace of calls that nobody made, so that
 * a device can be tried without an application. --events: in order, one after the other, again and
 * again;
 * --windows: kernels of a graph that does so, with another kernel behind each call; --eager: the
 * same, launched call by call. Else counts.
 * CALL is ENTRY:DTYPE:TRANS:MxNxK[xBATCH]:CALLS[:FLAGS], for instance
 * cublasGemmEx:bf16:TN:4096x16x4096:1000 (column-major, as cuBLAS has it), or for adds
 * cublasAxpyEx:bf16:NN:4096x1x1:1000 and cublasSgeam:f32:NN:512x64x1:10. FLAGS are letters: a alpha
 * is neither 0 nor 1, o beta is 1, b neither, g matrices have gaps.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "traces/writer.h"

static void set_types(struct tilewise_signature *s, const char *name)
{
    uint8_t in = (uint8_t)tilewise_dtype_find(name);
    bool typed = in == TILEWISE_F64 || in == TILEWISE_C64 || in == TILEWISE_C128;
    s->dtype_a = s->dtype_b = s->dtype_c = s->dtype_d = in;
    s->compute = s->scale = typed ? in : TILEWISE_F32;
    int compute = 68; /* cublasComputeType_t */
    if (in == TILEWISE_TF32) {
        s->dtype_a = s->dtype_b = s->dtype_c = s->dtype_d = TILEWISE_F32;
        s->compute = TILEWISE_TF32;
        compute = 77;
    } else if (in == TILEWISE_E4M3) {
        s->dtype_c = s->dtype_d = TILEWISE_BF16;
        s->scale_a = s->scale_b = 1;
        s->flags = TILEWISE_FAST_ACCUM;
    } else if (in == TILEWISE_I8) {
        s->dtype_c = s->dtype_d = s->compute = s->scale = TILEWISE_I32;
        compute = 72;
    } else if (in == TILEWISE_F64)
        compute = 70;
    s->math_mode = (uint16_t)(compute << 8);
}

static uint8_t op_of(const char *entry)
{
    bool adds = strstr(entry, "axpy") || strstr(entry, "Axpy") || strstr(entry, "geam");
    return adds ? TILEWISE_OP_ADD : strstr(entry, "gemv") ? TILEWISE_OP_GEMV : TILEWISE_OP_GEMM;
}

/* Where the last field of digits begins, behind its colon; NULL: there is none. */
static const char *find_calls(const char *text)
{
    const char *at = strrchr(text, ':');
    if (at && (at[1] < '0' || at[1] > '9'))
        for (at--; at > text && *at != ':'; at--)
            continue;
    return at;
}

static void add_gaps(struct tilewise_signature *s)
{
    s->lda += s->lda ? 3 : 0;
    s->ldb += s->n > 1 ? 1 : 0;
    s->ldc += s->n > 1 ? 5 : 0;
    s->ldd = s->ldc;
}

/* Matrices one behind the other, gaps included. */
static void set_strides(struct tilewise_signature *s)
{
    s->stride_a = s->lda * (s->trans_a ? s->m : s->k);
    s->stride_b = s->ldb * (s->trans_b ? s->k : s->n);
    s->stride_c = s->stride_d = s->ldc * s->n;
}

static void set_flags(struct tilewise_signature *s, const char *flags)
{
    if (strchr(flags, 'a'))
        s->alpha = TILEWISE_SCALAR_OTHER;
    if (strchr(flags, 'o'))
        s->beta = TILEWISE_SCALAR_ONE;
    if (strchr(flags, 'b'))
        s->beta = TILEWISE_SCALAR_OTHER;
    if (strpbrk(flags, "aob")) { /* then both are known */
        s->alpha = s->alpha == TILEWISE_SCALAR_UNREAD ? TILEWISE_SCALAR_ONE : s->alpha;
        s->beta = s->beta == TILEWISE_SCALAR_UNREAD ? TILEWISE_SCALAR_ZERO : s->beta;
    }
    if (strchr(flags, 'g'))
        add_gaps(s);
}

static bool parse(const char *text, struct tilewise_signature *s, char *entry,
                  unsigned long long *calls)
{
    char dtype[16], ta, tb;
    long long m, n, k, batch = 1;
    const char *shape = text;
    for (int colons = 0; *shape && colons < 3; shape++)
        colons += *shape == ':';
    const char *count = find_calls(text);
    if (sscanf(text, "%63[^:]:%15[^:]:%c%c", entry, dtype, &ta, &tb) != 4 || count < shape - 1 ||
        sscanf(shape, "%lldx%lldx%lldx%lld", &m, &n, &k, &batch) < 3 ||
        sscanf(count, ":%llu", calls) != 1)
        return false;
    *s = (struct tilewise_signature){
        .op = op_of(entry),
        .trans_a = ta == 'T',
        .trans_b = tb == 'T',
        .alpha = TILEWISE_SCALAR_UNREAD,
        .beta = TILEWISE_SCALAR_UNREAD,
        .align_a = 4,
        .align_b = 4,
        .align_c = 4,
        .align_d = 4,
        .m = m,
        .n = n,
        .k = k,
        .batch = batch,
        .lda = ta == 'T' ? k : m,
        .ldb = tb == 'T' ? n : k,
        .ldc = m,
        .ldd = m,
    };
    set_types(s, dtype);
    bool typed = strstr(entry, "Ex") == NULL && strstr(entry, "Lt") == NULL;
    if (typed)
        s->math_mode = 0;
    if (strstr(entry, "Strided") || (strstr(entry, "Lt") && batch > 1)) {
        s->batch_kind = TILEWISE_BATCH_STRIDED;
    } else if (strstr(entry, "Batched"))
        s->batch_kind = TILEWISE_BATCH_POINTERS;
    if (s->op == TILEWISE_OP_GEMV) {
        s->lda = m;
        s->ldb = s->ldc = 1;
        s->ldd = 1;
    }
    if (s->op == TILEWISE_OP_ADD) {
        s->dtype_a = TILEWISE_NONE;
        s->lda = 0;
        s->beta = TILEWISE_SCALAR_ONE;
        s->math_mode = 0;
        s->k = 1;
        s->ldb = s->ldc = s->ldd = n == 1 ? 1 : m;
    }
    const char *flags = strchr(count + 1, ':');
    set_flags(s, flags ? flags + 1 : "");
    if (s->batch_kind == TILEWISE_BATCH_STRIDED)
        set_strides(s);
    return true;
}

/* So that the order of the plan is that of the work. */
static uint64_t each_ns(const struct tilewise_signature *s)
{
    return 2000 + (uint64_t)(signature_flops(s) / 5e5);
}

enum { CALLS_MAX = 128, STEPS = 20, GAP_NS = 320, OTHER_NS = 3200 };
enum how { COUNTS, EVENTS, WINDOWS, EAGER };

struct trace {
    struct writer *w;
    enum how how;
    size_t ncalls;
    struct tilewise_signature calls[CALLS_MAX];
    uint32_t ids[CALLS_MAX];
    struct trace_counters counters;
};

static bool put(struct trace *t, const char *text)
{
    char entry[64];
    unsigned long long calls;
    struct tilewise_signature *s = &t->calls[t->ncalls];
    if (t->ncalls == CALLS_MAX || !parse(text, s, entry, &calls)) {
        fprintf(stderr, "make_trace: not a call: %s\n", text);
        return false;
    }
    if (t->how != COUNTS)
        calls = STEPS;
    t->counters.seen += calls;
    t->counters.recorded += calls;
    struct writer_count count = { calls, calls * each_ns(s), each_ns(s), each_ns(s), { { 0 } } };
    uint32_t *id = &t->ids[t->ncalls++];
    return writer_string(t->w, entry, strlen(entry), &s->entry) == ST_OK &&
           writer_signature(t->w, s, id) == ST_OK &&
           (t->how == EVENTS || writer_count(t->w, *id, &count) == ST_OK);
}

static bool put_events(struct trace *t)
{
    struct writer_event events[STEPS * CALLS_MAX];
    uint64_t at_ns = 1000;
    size_t count = 0;
    for (int step = 0; step < STEPS; step++)
        for (size_t i = 0; i < t->ncalls; i++) {
            uint32_t ns = (uint32_t)each_ns(&t->calls[i]);
            events[count++] = (struct writer_event){ t->ids[i], at_ns, ns };
            at_ns += ns + GAP_NS;
        }
    return writer_events(t->w, 0, 0, events, count) == ST_OK;
}

static bool put_kernels(struct trace *t, uint32_t name)
{
    bool good = true;
    for (size_t i = 0; good && i < t->ncalls; i++) {
        uint64_t ns = each_ns(&t->calls[i]);
        struct gpu_kernel kernel = { .name = name,
                                     .signature = t->ids[i],
                                     .launches = STEPS,
                                     .calls = STEPS,
                                     .measured = STEPS,
                                     .sum_ns = STEPS * ns,
                                     .min_ns = ns,
                                     .max_ns = ns };
        good = writer_gpu_kernel(t->w, &kernel) == ST_OK;
    }
    return good;
}

/* The kernels have the name that the simulated device's have. */
static bool put_windows(struct trace *t)
{
    static const char ours[] = "simulated_kernel", other[] = "attention";
    static struct gpu_interval intervals[2 * STEPS * CALLS_MAX];
    struct gpu_source sources[CALLS_MAX + 1];
    uint32_t name, other_name;
    uint64_t at_ns = 1000;
    size_t count = 0;
    if (writer_string(t->w, ours, strlen(ours), &name) != ST_OK ||
        writer_string(t->w, other, strlen(other), &other_name) != ST_OK)
        return false;
    bool in_graph = t->how == WINDOWS;
    for (size_t i = 0; i < t->ncalls; i++)
        sources[i] = (struct gpu_source){ name, t->ids[i], GPU_KERNEL, in_graph, true };
    sources[t->ncalls] =
        (struct gpu_source){ other_name, GPU_NO_SIGNATURE, GPU_KERNEL, in_graph, false };
    for (int step = 0; step < STEPS; step++)
        for (uint32_t i = 0; i < 2 * t->ncalls; i++) {
            uint32_t source = i % 2 ? (uint32_t)t->ncalls : i / 2;
            uint32_t ns = i % 2 ? OTHER_NS : (uint32_t)each_ns(&t->calls[source]);
            intervals[count++] = (struct gpu_interval){ at_ns, 1000, ns, source };
            at_ns += ns + GAP_NS;
        }
    struct gpu_window window = { 1000, at_ns, at_ns - 1000, count, count, 0 };
    struct gpu_totals totals = { count, count, 0, 0, 1, at_ns - 1000, at_ns - 1000 };
    struct gpu_intervals all = { .window_ns = 1000, .stream = 1, .nsources = t->ncalls + 1 };
    all.sources = sources;
    all.count = count;
    all.interval = intervals;
    return writer_fact(t->w, "gpu", "Simulated GPU") == ST_OK && put_kernels(t, name) &&
           writer_gpu_window(t->w, &window) == ST_OK && writer_gpu_totals(t->w, &totals) == ST_OK &&
           writer_gpu_intervals(t->w, &all) == ST_OK;
}

static bool put_order(struct trace *t)
{
    return t->how == COUNTS || (t->how == EVENTS ? put_events(t) : put_windows(t));
}

int main(int argc, char **argv)
{
    struct writer_options options = { .kind = TRACE_KIND_RECORDED, .shard = { .pid = 1 } };
    struct trace t = { .how = COUNTS };
    int first = 1;
    static const char *const orders[] = { "--events", "--windows", "--eager" };
    for (int i = EVENTS; argc > 1 && i <= EAGER; i++)
        if (strcmp(argv[1], orders[i - EVENTS]) == 0) {
            t.how = (enum how)i;
            first = 2;
        }
    if (argc < first + 2) {
        fprintf(stderr, "usage: make_trace [--events|--windows|--eager] FILE "
                        "ENTRY:DTYPE:TRANS:MxNxK[xBATCH]:CALLS...\n");
        return EXIT_FAILURE;
    }
    int fd = open(argv[first], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || writer_open(&t.w, fd, &options) != ST_OK) {
        fprintf(stderr, "make_trace: cannot write %s\n", argv[first]);
        return EXIT_FAILURE;
    }
    for (int i = first + 1; i < argc; i++)
        if (!put(&t, argv[i]))
            return EXIT_FAILURE;
    bool good = put_order(&t) && writer_close(t.w, &t.counters, 1000000000) == ST_OK;
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
