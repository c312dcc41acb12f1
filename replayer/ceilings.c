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

/* Types of the result, the sum and the scalars that go with an element type. */
struct types {
    uint8_t in, out, compute, scale;
};

static struct types types_of(uint8_t dtype)
{
    switch (dtype) {
    case TILEWISE_TF32:
        return (struct types){ TILEWISE_F32, TILEWISE_F32, TILEWISE_TF32, TILEWISE_F32 };
    case TILEWISE_F16:
    case TILEWISE_BF16:
        return (struct types){ dtype, dtype, TILEWISE_F32, TILEWISE_F32 };
    case TILEWISE_E4M3:
    case TILEWISE_E5M2:
        return (struct types){ dtype, TILEWISE_BF16, TILEWISE_F32, TILEWISE_F32 };
    case TILEWISE_I8:
        return (struct types){ dtype, TILEWISE_I32, TILEWISE_I32, TILEWISE_I32 };
    default:
        return (struct types){ dtype, dtype, dtype, dtype };
    }
}

/* fp8 and int8: the transposed first operand that their fast kernels want, and what takes it. */
static struct tilewise_signature cube(const struct backend *backend, uint8_t dtype, int64_t size)
{
    struct types t = types_of(dtype);
    bool is_byte = tilewise_dtype_bits(dtype) == 8;
    const char *entry = is_byte ? "cublasLtMatmul" : "cublasGemmEx";
    struct tilewise_signature s = signature_gemm(TILEWISE_COL_MAJOR, t.in, size, size, size);
    s.trans_a = is_byte ? TILEWISE_T : TILEWISE_N;
    s.dtype_b = dtype == TILEWISE_E5M2 ? TILEWISE_E4M3 : t.in;
    s.dtype_c = s.dtype_d = t.out;
    s.compute = t.compute;
    s.scale = t.scale;
    s.entry = backend->entry ? backend->entry(entry) : 0;
    s.flags = t.out == TILEWISE_BF16 && is_byte ? TILEWISE_FAST_ACCUM : 0;
    s.align_a = s.align_b = s.align_c = s.align_d = 8;
    return s;
}

/* Shortest time of one call of a size^3 product, operands warm; NaN if it cannot run. */
static double best_ns(struct probe *p, uint8_t dtype, int64_t size, uint64_t calls, int tries)
{
    struct tilewise_signature s = cube(p->backend, dtype, size);
    struct backend_routines routines;
    struct rotation_options options = { .max_bytes = memory_max_bytes, .seed = 1 };
    double best = INFINITY;
    if (p->backend->prepare(p->session, &s, &routines) != ST_OK ||
        rotation_open(&p->rotation, p->backend, p->session, &s, &options) != ST_OK)
        return NAN;
    for (int i = 0; i <= tries; i++) { /* the first one warms up */
        struct backend_burst burst = { step, p, calls, 0, false, BACKEND_AS_BEST };
        double ns = p->backend->burst(p->session, &burst) / (double)calls;
        if (i > 0)
            best = fmin(best, ns);
    }
    rotation_close(&p->rotation);
    return isfinite(best) ? best : NAN;
}

void ceilings_measure(const struct backend *backend, struct backend_session *session, uint8_t dtype,
                      double bandwidth, struct result_ceiling *out)
{
    struct probe p = { .backend = backend, .session = session };
    *out = (struct result_ceiling){ .dtype = dtype, .rate_flops = NAN };
    for (const int64_t *size = backend->cubes; *size; size++) {
        struct tilewise_signature s = cube(backend, dtype, *size);
        double ns = best_ns(&p, dtype, *size, 1, RATE_TRIES);
        out->rate_flops = fmax(out->rate_flops, signature_flops(&s) / (ns * 1e-9));
    }
    out->bandwidth_bytes_per_s = bandwidth;
    out->floor_ns = best_ns(&p, dtype, 1, FLOOR_CALLS, FLOOR_TRIES);
}
