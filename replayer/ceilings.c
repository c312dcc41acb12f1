/* SPDX-License-Identifier: Apache-2.0 */
#include "replayer/ceilings.h"

#include <math.h>

#include "replayer/rotation.h"

enum { FLOOR_CALLS = 2000, FLOOR_TRIES = 5, RATE_TRIES = 3 };
static const uint64_t memory_max_bytes = 1u << 30;

struct probe {
    const struct backend *backend;
    struct backend_session *session;
    struct rotation rotation;
};

static int step(void *context)
{
    struct probe *p = context;
    return p->backend->baseline(p->session, 0, rotation_step(&p->rotation));
}

static struct tilewise_signature cube(uint8_t dtype, int64_t size)
{
    return (struct tilewise_signature){
        .op = TILEWISE_OP_GEMM,
        .dtype_a = dtype,
        .dtype_b = dtype,
        .dtype_c = dtype,
        .dtype_d = dtype,
        .compute = dtype,
        .scale = dtype,
        .alpha = TILEWISE_SCALAR_ONE,
        .align_a = 8,
        .align_b = 8,
        .align_c = 8,
        .m = size,
        .n = size,
        .k = size,
        .batch = 1,
        .lda = size,
        .ldb = size,
        .ldc = size,
    };
}

/* Shortest time of one call of a size^3 product, operands warm; NaN if it cannot run. */
static double best_ns(struct probe *p, uint8_t dtype, int64_t size, uint64_t calls, int tries)
{
    struct tilewise_signature s = cube(dtype, size);
    struct backend_routines routines;
    struct rotation_options options = { .max_bytes = memory_max_bytes, .seed = 1 };
    double best = INFINITY;
    if (p->backend->prepare(p->session, &s, &routines) != ST_OK ||
        rotation_open(&p->rotation, p->backend, p->session, &s, &options) != ST_OK)
        return NAN;
    for (int i = 0; i <= tries; i++) { /* the first one warms up */
        double ns = p->backend->burst(p->session, step, p, calls) / (double)calls;
        if (i > 0)
            best = fmin(best, ns);
    }
    rotation_close(&p->rotation);
    return isfinite(best) ? best : NAN;
}

void ceilings_measure(const struct backend *backend, struct backend_session *session, uint8_t dtype,
                      double bandwidth, struct result_ceiling *out)
{
    static const int64_t sizes[] = { 512, 1024 };
    struct probe p = { .backend = backend, .session = session };
    *out = (struct result_ceiling){ .dtype = dtype, .rate_flops = NAN };
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        struct tilewise_signature s = cube(dtype, sizes[i]);
        double ns = best_ns(&p, dtype, sizes[i], 1, RATE_TRIES);
        out->rate_flops = fmax(out->rate_flops, signature_flops(&s) / (ns * 1e-9));
    }
    out->bandwidth_bytes_per_s = bandwidth;
    out->floor_ns = best_ns(&p, dtype, 1, FLOOR_CALLS, FLOOR_TRIES);
}
