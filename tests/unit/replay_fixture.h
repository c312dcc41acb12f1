/* SPDX-License-Identifier: Apache-2.0
 *
 * Signatures and a backend without hardware for the tests of the replayer. The backend's memory is
 * the heap, its baseline is the reference, and its clock is simulated: each routine has a price.
 */
#ifndef TILEWISE_TESTS_REPLAY_FIXTURE_H
#define TILEWISE_TESTS_REPLAY_FIXTURE_H

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/builtin.h"
#include "replayer/backend.h"
#include "replayer/operand.h"

static inline struct tilewise_signature fixture_gemm(uint8_t dtype, int64_t m, int64_t n, int64_t k)
{
    struct tilewise_signature s = signature_gemm(TILEWISE_COL_MAJOR, dtype, m, n, k);
    s.align_a = s.align_b = 4;
    s.align_c = 3;
    s.ldd = 0; /* D is C, whatever a test makes of C */
    return s;
}

static inline struct tilewise_signature fixture_gemv(uint8_t dtype, int64_t m, int64_t n)
{
    struct tilewise_signature s = fixture_gemm(dtype, m, n, 1);
    s.op = TILEWISE_OP_GEMV;
    s.ldb = s.ldc = 1;
    return s;
}

static inline struct tilewise_signature fixture_add(uint8_t dtype, int64_t m)
{
    struct tilewise_signature s = fixture_gemm(dtype, m, 1, 1);
    s.op = TILEWISE_OP_ADD;
    s.beta = TILEWISE_SCALAR_ONE;
    s.dtype_a = TILEWISE_NONE;
    s.lda = 0;
    s.ldb = s.ldc = 1;
    return s;
}

/* Any gemm that BLAS takes: layouts, transposes, gaps, alpha and beta classes. */
static inline struct tilewise_signature fixture_random_gemm(uint8_t dtype, uint64_t *state,
                                                            int64_t most)
{
    uint64_t bits = *state = *state * 6364136223846793005u + 1442695040888963407u;
    int64_t m = 1 + (int64_t)((bits >> 20) % (uint64_t)most);
    int64_t n = 1 + (int64_t)((bits >> 31) % (uint64_t)most);
    int64_t k = 1 + (int64_t)((bits >> 42) % (uint64_t)most);
    struct tilewise_signature s = fixture_gemm(dtype, m, n, k);
    s.layout = bits >> 60 & 1;
    s.trans_a = bits >> 61 & 1;
    s.trans_b = bits >> 62 & 1;
    s.alpha = bits >> 63 ? TILEWISE_SCALAR_OTHER : TILEWISE_SCALAR_ONE;
    s.beta = (uint8_t)((bits >> 55) % 3);
    bool row = s.layout == TILEWISE_ROW_MAJOR;
    int64_t gap = (int64_t)(bits >> 57 & 3);
    s.lda = (row != (s.trans_a != 0) ? k : m) + gap;
    s.ldb = (row != (s.trans_b != 0) ? n : k) + gap;
    s.ldc = (row ? n : m) + gap;
    return s;
}

/* ---- the backend ---- */

enum { FIXTURE_ROUTINES = 2 };

struct backend_session {
    struct tilewise_signature signature;
    double price_ns[FIXTURE_ROUTINES]; /* of a call of the baseline's routines */
    double clock_ns;
};

static struct backend_session fixture_session = { .price_ns = { 1000, 800 } };
static const char *fixture_capped = ""; /* what the backend says about itself */

static inline bool fixture_supports(const struct tilewise_signature *s, char *why, size_t why_bytes)
{
    struct operand shapes[OPERAND_COUNT];
    struct fault fault;
    if (operand_layout(s, shapes, &fault) == ST_OK)
        return true;
    snprintf(why, why_bytes, "%.100s", fault.text);
    return false;
}

static inline enum status fixture_open(struct backend_session **out,
                                       const struct backend_options *options, struct fault *fault)
{
    (void)options;
    (void)fault;
    *out = &fixture_session;
    return ST_OK;
}

static inline void fixture_close(struct backend_session *session)
{
    (void)session;
}

static inline void fixture_describe(struct backend_session *session, struct backend_info *info)
{
    (void)session;
    *info = (struct backend_info){
        .device = "simulated",
        .library = "reference",
        .threads = 1,
        .cache_bytes = 4096,
        .burst_ns = 200e3,
    };
    snprintf(info->capped, sizeof info->capped, "%s", fixture_capped);
}

static inline void *fixture_alloc(struct backend_session *session, size_t bytes)
{
    (void)session;
    return aligned_alloc(256, (bytes + 255) / 256 * 256);
}

static inline void fixture_release(struct backend_session *session, void *memory)
{
    (void)session;
    free(memory);
}

static inline enum status fixture_write(struct backend_session *session, void *device,
                                        const void *host, size_t bytes)
{
    (void)session;
    memcpy(device, host, bytes);
    return ST_OK;
}

static inline enum status fixture_read(struct backend_session *session, void *host,
                                       const void *device, size_t bytes)
{
    (void)session;
    memcpy(host, device, bytes);
    return ST_OK;
}

static inline enum status fixture_prepare(struct backend_session *session,
                                          const struct tilewise_signature *s,
                                          struct backend_routines *out)
{
    session->signature = *s;
    *out = (struct backend_routines){ .count = FIXTURE_ROUTINES, .name = { "first", "second" } };
    return ST_OK;
}

static inline int fixture_baseline(struct backend_session *session, size_t index,
                                   const struct tilewise_args *args)
{
    session->clock_ns += session->price_ns[index];
    if (session->signature.m > 256)
        return 0; /* a ceiling: only its simulated time matters */
    return ref_candidate.run(&ref_candidate, &session->signature, args);
}

static inline double fixture_burst(struct backend_session *session,
                                   const struct backend_burst *burst)
{
    double start_ns = session->clock_ns;
    int failed = 0;
    for (uint64_t i = 0; i < burst->calls; i++)
        failed |= burst->step(burst->context);
    return failed ? NAN : session->clock_ns - start_ns;
}

static inline enum status fixture_bandwidth(struct backend_session *session, double *bytes_per_s)
{
    (void)session;
    *bytes_per_s = 1e9;
    return ST_OK;
}

static inline int fixture_copy(struct backend_session *session, void *to, const void *from,
                               size_t bytes)
{
    (void)session;
    memcpy(to, from, bytes);
    return 0;
}

static inline void fixture_fill_args(struct backend_session *session, struct tilewise_args *args)
{
    (void)session;
    args->threads = 1;
}

/* Where the build has kernels that run here (tests/emulation): verify where the results are. */
#ifdef VERIFY_ON_DEVICE
#include "replayer/cuda_site.h"

static inline const struct site_ops *fixture_site(struct backend_session *session)
{
    (void)session;
    return &cuda_site;
}

#define fixture_device_reference ref_compute /* the device is the heap */
#else
#define fixture_site             NULL
#define fixture_device_reference NULL
#endif

static const int64_t fixture_cubes[] = { 512, 1024, 0 };

static const struct backend fixture_backend = {
    .name = "cpu",
    .align_bytes = 16,
    .slow_rate_flops = 5e8,
    .cubes = fixture_cubes,
    .supports = fixture_supports,
    .open = fixture_open,
    .close = fixture_close,
    .describe = fixture_describe,
    .alloc = fixture_alloc,
    .release = fixture_release,
    .write = fixture_write,
    .read = fixture_read,
    .site = fixture_site,
    .prepare = fixture_prepare,
    .baseline = fixture_baseline,
    .burst = fixture_burst,
    .copy = fixture_copy,
    .bandwidth = fixture_bandwidth,
    .fill_args = fixture_fill_args,
};

#endif
