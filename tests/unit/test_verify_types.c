/* SPDX-License-Identifier: Apache-2.0
 *
 * Verification of the types that tensor cores multiply: kernels that sum as they do pass over many
 * shapes; kernels that are wrong in one way each never do.
 */
#include <criterion/criterion.h>

#include "replay_fixture.h"
#include "replayer/stats.h"
#include "replayer/verify.h"
#include "traces/number.h"

/* Types of one product: operands, result, sum. */
struct types {
    uint8_t in, out, compute;
};
static const struct types all_types[] = {
    { TILEWISE_F16, TILEWISE_F16, TILEWISE_F32 },   { TILEWISE_BF16, TILEWISE_BF16, TILEWISE_F32 },
    { TILEWISE_BF16, TILEWISE_F32, TILEWISE_F32 },  { TILEWISE_F32, TILEWISE_F32, TILEWISE_TF32 },
    { TILEWISE_E4M3, TILEWISE_BF16, TILEWISE_F32 }, { TILEWISE_E5M2, TILEWISE_F32, TILEWISE_F32 },
    { TILEWISE_I8, TILEWISE_I32, TILEWISE_I32 },
};
enum { TYPES = sizeof all_types / sizeof all_types[0] };
#ifdef VERIFY_ON_DEVICE /* which is emulated, thread by thread */
enum { RIGHT_SHAPES = 150 };
#else
enum { RIGHT_SHAPES = 1000 };
#endif

enum mistake {
    RIGHT,
    DOES_NOTHING,
    WRONG_EDGE_TILE,
    ONE_ELEMENT,
    STALE_OUTPUT,
    FEWER_DIGITS, /* the sum is kept in bf16 */
    WRONG_ALPHA,
    FIRST_BATCH_ONLY,
    READS_C,
    WRITES_BEHIND,
    HIDES_NAN,
    MISSES_LAST_K,
    CHANGES_INPUT,
    FAULTS
};

struct subject {
    const struct tilewise_signature *s;
    enum mistake fault;
    unsigned calls;
};

/* f32 sum that truncates after each 16 exact products, as tensor cores do. */
static double truncated(double sum)
{
    float near = (float)sum;
    return fabs((double)near) > fabs(sum) ? (double)nextafterf(near, 0) : (double)near;
}

static double operand(const struct tilewise_signature *s, uint8_t dtype, const void *at, int64_t i)
{
    double value = number_load(dtype, at, i);
    if (s->compute != TILEWISE_TF32)
        return value;
    uint32_t bits;
    float narrow = (float)value;
    memcpy(&bits, &narrow, sizeof bits);
    bits = (bits + 0xfff + (bits >> 13 & 1)) & ~0x1fffu; /* 10 bits of fraction */
    memcpy(&narrow, &bits, sizeof bits);
    return isnan(value) ? value : (double)narrow;
}

static double product(const struct subject *x, const struct tilewise_args *args, int64_t batch,
                      int64_t row, int64_t column)
{
    const struct tilewise_signature *s = x->s;
    int64_t k = x->fault == MISSES_LAST_K && s->k > 1 ? s->k - 1 : s->k;
    double sum = 0;
    for (int64_t p = 0; p < k; p++) {
        double a = operand(s, s->dtype_a, args->a, batch * s->stride_a + row + p * s->lda);
        double b = operand(s, s->dtype_b, args->b, batch * s->stride_b + p + column * s->ldb);
        if (x->fault == HIDES_NAN && isnan(a))
            a = 0;
        sum += a * b;
        if (s->compute != TILEWISE_I32 && (p % 16 == 15 || p == k - 1))
            sum = truncated(sum);
        if (x->fault == FEWER_DIGITS && p % 4 == 3) {
            uint16_t room[4];
            number_store(TILEWISE_BF16, room, 0, sum);
            sum = number_load(TILEWISE_BF16, room, 0);
        }
    }
    return sum;
}

static bool is_skipped(const struct subject *x, int64_t row, int64_t column)
{
    const struct tilewise_signature *s = x->s;
    switch (x->fault) {
    case DOES_NOTHING:
        return true;
    case STALE_OUTPUT: /* what the first run left is thought good for ever */
        return x->calls > 2;
    case WRONG_EDGE_TILE:
        return row >= s->m / 8 * 8;
    case ONE_ELEMENT:
        return row == s->m / 2 && column == s->n / 2;
    default:
        return false;
    }
}

static void finish(const struct subject *x, const struct tilewise_args *args, int64_t batch,
                   int64_t row, int64_t column)
{
    const struct tilewise_signature *s = x->s;
    int64_t at = batch * s->stride_c + row + column * s->ldc;
    double alpha = number_load(s->scale, args->alpha, 0),
           beta = number_load(s->scale, args->beta, 0);
    double value = alpha * product(x, args, batch, row, column);
    if (x->fault == WRONG_ALPHA)
        value *= 1.0625;
    if (beta != 0 || x->fault == READS_C)
        value += beta * number_load(s->dtype_c, args->c, at);
    number_store(s->dtype_c, args->c, at, value);
}

static int run(void *context, const struct tilewise_args *args)
{
    struct subject *x = context;
    const struct tilewise_signature *s = x->s;
    int64_t batches = x->fault == FIRST_BATCH_ONLY ? 1 : s->batch;
    x->calls++;
    for (int64_t b = 0; b < batches; b++)
        for (int64_t column = 0; column < s->n; column++)
            for (int64_t row = 0; row < s->m; row++)
                if (!is_skipped(x, row, column))
                    finish(x, args, b, row, column);
    int64_t last = (s->batch - 1) * s->stride_c + (s->n - 1) * s->ldc + s->m - 1;
    if (x->fault == WRITES_BEHIND)
        number_store(s->dtype_c, args->c, last + 1, 3);
    if (x->fault == CHANGES_INPUT)
        number_store(s->dtype_b, (void *)args->b, 0, 3);
    return 0;
}

static struct verify_report verify(const struct tilewise_signature *s, enum mistake fault,
                                   uint64_t seed)
{
    struct subject subject = { s, fault, 0 };
    struct verify_report report;
    struct verify_job job = {
        .backend = &fixture_backend,
        .session = &fixture_session,
        .signature = s,
        .reference = ref_compute,
        .device_reference = fixture_device_reference,
        .run = run,
        .context = &subject,
        .kappa = s->compute == TILEWISE_I32 ? 0 : 1.0 / 16,
        .seed = seed,
    };
    verify_subject(&job, &report);
    return report;
}

static struct tilewise_signature signature(const struct types *t, int64_t m, int64_t n, int64_t k)
{
    struct tilewise_signature s = fixture_gemm(t->in, m, n, k);
    s.dtype_c = s.dtype_d = t->out;
    s.compute = t->compute;
    s.scale = t->compute == TILEWISE_I32 ? TILEWISE_I32 : TILEWISE_F32;
    s.batch_kind = TILEWISE_BATCH_STRIDED;
    s.batch = 2;
    s.stride_a = m * k + 3;
    s.stride_b = k * n;
    s.stride_c = m * n + 5;
    return s;
}

Test(verify_types, right_kernels_pass_over_a_thousand_shapes)
{
    uint64_t state = 3;
    for (int i = 0; i < RIGHT_SHAPES; i++) {
        const struct types *t = &all_types[i % TYPES];
        int64_t m = 1 + (int64_t)(stats_random(&state) % 24);
        int64_t n = 1 + (int64_t)(stats_random(&state) % 24);
        int64_t k = 1 + (int64_t)(stats_random(&state) % 300);
        struct tilewise_signature s = signature(t, m, n, k);
        bool whole = t->in == TILEWISE_I8;
        s.alpha = i / TYPES % 2 && !whole ? TILEWISE_SCALAR_OTHER : TILEWISE_SCALAR_ONE;
        s.beta = whole ? TILEWISE_SCALAR_ZERO : (uint8_t)(i / TYPES / 2 % 3);
        struct verify_report report = verify(&s, RIGHT, (uint64_t)i);
        char text[96];
        cr_assert_eq(report.status, RESULT_PASSED, "%s: %s",
                     signature_describe(&s, text, sizeof text), report.reason);
    }
}

Test(verify_types, right_kernels_pass_with_long_sums)
{
    for (int i = 0; i < TYPES; i++) {
        struct tilewise_signature s = signature(&all_types[i], 5, 4, 20000);
        struct verify_report report = verify(&s, RIGHT, 9);
        cr_assert_eq(report.status, RESULT_PASSED, "%s: %s", tilewise_dtype_name(all_types[i].in),
                     report.reason);
    }
}

/* In a result of few digits a sum of few digits is no fault; integers have no NaN, and 0 times one
 * of them is 0. */
static bool is_no_fault(const struct types *t, enum mistake fault)
{
    bool rough = t->in == TILEWISE_E5M2 || t->in == TILEWISE_E4M3 || t->out == TILEWISE_BF16;
    return (fault == FEWER_DIGITS && rough) ||
           ((fault == HIDES_NAN || fault == READS_C) && t->in == TILEWISE_I8);
}

Test(verify_types, wrong_kernels_never_pass)
{
    int tried = 0;
    for (int i = 0; i < TYPES; i++)
        for (int fault = RIGHT + 1; fault < FAULTS; fault++) {
            struct tilewise_signature s = signature(&all_types[i], 21, 13, 70);
            if (is_no_fault(&all_types[i], (enum mistake)fault))
                continue;
            struct verify_report report = verify(&s, (enum mistake)fault, 4);
            cr_assert_eq(report.status, RESULT_FAILED, "%s/%s fault %d: %s",
                         tilewise_dtype_name(all_types[i].in),
                         tilewise_dtype_name(all_types[i].out), fault,
                         result_status_name(report.status));
            tried++;
        }
    cr_assert_geq(tried, 50);
}
