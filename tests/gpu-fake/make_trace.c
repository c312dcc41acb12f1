/* SPDX-License-Identifier: Apache-2.0
 *
 * make_trace FILE CALL...: a trace of cuBLAS calls that nobody made, so that a device can be tried
 * without an application. CALL is ENTRY:DTYPE:TRANS:MxNxK[xBATCH]:CALLS, for instance
 * cublasGemmEx:bf16:TN:4096x16x4096:1000 (column-major, as cuBLAS has it).
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

static bool parse(const char *text, struct tilewise_signature *s, char *entry,
                  unsigned long long *calls)
{
    char dtype[16], ta, tb;
    long long m, n, k, batch = 1;
    const char *shape = text;
    for (int colons = 0; *shape && colons < 3; shape++)
        colons += *shape == ':';
    const char *count = strrchr(text, ':');
    if (sscanf(text, "%63[^:]:%15[^:]:%c%c", entry, dtype, &ta, &tb) != 4 || count < shape ||
        sscanf(shape, "%lldx%lldx%lldx%lld", &m, &n, &k, &batch) < 3 ||
        sscanf(count, ":%llu", calls) != 1)
        return false;
    *s = (struct tilewise_signature){
        .op = strstr(entry, "gemv") ? TILEWISE_OP_GEMV : TILEWISE_OP_GEMM,
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
        s->stride_a = m * k;
        s->stride_b = k * n;
        s->stride_c = s->stride_d = m * n;
    } else if (strstr(entry, "Batched"))
        s->batch_kind = TILEWISE_BATCH_POINTERS;
    if (s->op == TILEWISE_OP_GEMV) {
        s->lda = m;
        s->ldb = s->ldc = 1;
        s->ldd = 1;
    }
    return true;
}

static bool put(struct writer *w, const char *text, struct trace_counters *counters)
{
    struct tilewise_signature s;
    char entry[64];
    unsigned long long calls;
    uint32_t id;
    if (!parse(text, &s, entry, &calls)) {
        fprintf(stderr, "make_trace: not a call: %s\n", text);
        return false;
    }
    /* So that the order of the plan is that of the work. */
    uint64_t each_ns = 2000 + (uint64_t)(signature_flops(&s) / 5e5);
    struct writer_count count = { calls, calls * each_ns, each_ns, each_ns, { { 0 } } };
    counters->seen += calls;
    counters->recorded += calls;
    return writer_string(w, entry, strlen(entry), &s.entry) == ST_OK &&
           writer_signature(w, &s, &id) == ST_OK && writer_count(w, id, &count) == ST_OK;
}

int main(int argc, char **argv)
{
    struct writer *w;
    struct writer_options options = { .kind = TRACE_KIND_RECORDED, .shard = { .pid = 1 } };
    struct trace_counters counters = { 0 };
    if (argc < 3) {
        fprintf(stderr, "usage: make_trace FILE ENTRY:DTYPE:TRANS:MxNxK[xBATCH]:CALLS...\n");
        return EXIT_FAILURE;
    }
    int fd = open(argv[1], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || writer_open(&w, fd, &options) != ST_OK) {
        fprintf(stderr, "make_trace: cannot write %s\n", argv[1]);
        return EXIT_FAILURE;
    }
    for (int i = 2; i < argc; i++)
        if (!put(w, argv[i], &counters))
            return EXIT_FAILURE;
    return writer_close(w, &counters, 1000000000) == ST_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
