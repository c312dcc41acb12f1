/* SPDX-License-Identifier: Apache-2.0
 *
 * The kernels of tests/gpu/wrong_candidates.cu, emulated, under the replayer's verification: each
 * wrong one fails wherever it is offered, each right one passes.
 */
#include "verify_fixture.h"

extern const struct tilewise_candidate *const *tilewise_candidates(uint32_t abi, size_t *count);

static struct verify_report verify_offer(const struct tilewise_candidate *c,
                                         const struct tilewise_signature *s)
{
    struct verify_job job = {
        .signature = s,
        .kappa = s->compute == TILEWISE_TF32 || s->dtype_a != s->compute ? 1. / 16 : 0,
        .seed = 5,
    };
    return verify_candidate(job, c);
}

/* ---- shapes on which every fault shows somewhere ---- */

static const struct {
    uint8_t dtype, compute;
} types[] = {
    { TILEWISE_F32, TILEWISE_F32 },
    { TILEWISE_F16, TILEWISE_F32 },
    { TILEWISE_BF16, TILEWISE_F32 },
    { TILEWISE_F32, TILEWISE_TF32 },
};
enum { TYPES = sizeof types / sizeof types[0], SHAPES = 7, ADDS = 4 };

static void give_batches(struct tilewise_signature *s)
{
    s->batch_kind = TILEWISE_BATCH_STRIDED;
    s->batch = 3;
    s->stride_a = s->lda * (s->trans_a ? s->m : s->k);
    s->stride_b = s->ldb * s->n;
    s->stride_c = s->ldc * s->n + 1;
}

static struct tilewise_signature gemm(size_t type, int which)
{
    static const int64_t sizes[SHAPES][3] = { { 40, 24, 50 }, { 32, 32, 32 },  { 20, 19, 33 },
                                              { 33, 17, 20 }, { 48, 40, 600 }, { 9, 30, 70 },
                                              { 16, 32, 48 } };
    struct tilewise_signature s =
        fixture_gemm(types[type].dtype, sizes[which][0], sizes[which][1], sizes[which][2]);
    s.compute = types[type].compute;
    s.scale = TILEWISE_F32;
    if (which == 1) {
        s.alpha = TILEWISE_SCALAR_OTHER;
        s.beta = TILEWISE_SCALAR_ONE;
    } else if (which == 2) {
        s.trans_a = TILEWISE_T;
        s.lda = s.k + 3;
        s.ldc = s.m + 2;
        give_batches(&s);
    } else if (which == 3) {
        s.beta = TILEWISE_SCALAR_OTHER;
        s.lda = s.m + 8;
        s.ldc = s.m + 5;
    } else if (which == 5) {
        s.layout = TILEWISE_ROW_MAJOR;
        s.lda = s.k;
        s.ldb = s.n + 1;
        s.ldc = s.n;
    }
    return s;
}

static struct tilewise_signature add(size_t type, int which)
{
    struct tilewise_signature s = fixture_add(types[type].dtype, which == 1 ? 20 : 100);
    s.compute = s.scale = TILEWISE_F32;
    if (which == 1) {
        s.n = 30;
        s.ldb = 23;
        s.ldc = 21;
    } else if (which == 2) {
        s.alpha = TILEWISE_SCALAR_OTHER;
    } else if (which == 3) {
        s.batch_kind = TILEWISE_BATCH_STRIDED;
        s.batch = 2;
        s.stride_b = 100;
        s.stride_c = 104;
    }
    return s;
}

static struct tilewise_signature shape(size_t type, int which)
{
    return which < SHAPES ? gemm(type, which) : add(type, which - SHAPES);
}

/* ---- the tests ---- */

static bool is_kind(const struct tilewise_candidate *c, const char *kind)
{
    return strncmp(c->name, kind, strlen(kind)) == 0;
}

/* Every offer of the kind is as expected, and each candidate of it has at least one. Returns how
 * many there are. */
static int expect(const char *kind, enum result_status status, bool deterministic)
{
    size_t count;
    int found = 0;
    const struct tilewise_candidate *const *all =
        tilewise_candidates(TILEWISE_CANDIDATE_ABI, &count);
    for (size_t i = 0; i < count; i++) {
        int offers = 0;
        for (size_t at = 0; is_kind(all[i], kind) && at < TYPES * (SHAPES + ADDS); at++) {
            struct tilewise_signature s = shape(at % TYPES, (int)(at / TYPES));
            char text[160];
            if (!all[i]->supports(all[i], &s))
                continue;
            struct verify_report report = verify_offer(all[i], &s);
            signature_describe(&s, text, sizeof text);
            cr_expect_eq(report.status, status, "%s, %s: %s %s", all[i]->name, text,
                         result_status_name(report.status), report.reason);
            cr_expect(report.status != RESULT_PASSED || report.deterministic == deterministic,
                      "%s, %s", all[i]->name, text);
            offers++;
        }
        cr_expect(offers > 0 || !is_kind(all[i], kind), "%s: offered nowhere", all[i]->name);
        found += is_kind(all[i], kind);
    }
    return found;
}

Test(wrong, no_wrong_kernel_passes)
{
    int found = expect("wrong_", RESULT_FAILED, false);
    cr_expect_geq(found, 50, "%d", found);
}

Test(wrong, right_kernels_pass)
{
    int found = expect("right_", RESULT_PASSED, true);
    cr_expect_geq(found, 10, "%d", found);
}

Test(wrong, sums_in_any_order_are_called_not_deterministic)
{
    cr_expect_geq(expect("varies_", RESULT_PASSED, false), 2);
}

Test(wrong, another_abi_is_refused)
{
    size_t count;
    cr_expect_null(tilewise_candidates(TILEWISE_CANDIDATE_ABI + 1, &count));
}

Test(wrong, names_are_unique)
{
    size_t count;
    const struct tilewise_candidate *const *all =
        tilewise_candidates(TILEWISE_CANDIDATE_ABI, &count);
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < i; j++)
            cr_expect_str_neq(all[i]->name, all[j]->name);
}
