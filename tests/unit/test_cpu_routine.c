/* SPDX-License-Identifier: Apache-2.0
 *
 * Every routine that is offered as "the same" must be the same: verified like a candidate, or, for
 * complex types, compared with the recorded routine.
 */
#include <criterion/criterion.h>

#include "replay_fixture.h"
#include "replayer/cpu_routine.h"
#include "replayer/verify.h"
#include "traces/number.h"

static struct backend_session *session;

static void open_cpu(void)
{
    struct fault fault = { .text = "" };
    struct backend_options options = { .threads = 1 };
    cr_assert_eq(backend_cpu.open(&session, &options, &fault), ST_OK, "%s", fault.text);
}

static void close_cpu(void)
{
    backend_cpu.close(session);
}

TestSuite(cpu_routine, .init = open_cpu, .fini = close_cpu);

static int run_routine(void *context, const struct tilewise_args *args)
{
    return backend_cpu.baseline(session, *(size_t *)context, args);
}

/* Verify all routines of a signature; returns how many there are. */
static size_t verify_all(const struct tilewise_signature *s)
{
    struct backend_routines list;
    char why[160] = "", text[96];
    signature_describe(s, text, sizeof text);
    cr_assert(backend_cpu.supports(s, why, sizeof why), "%s: %s", text, why);
    cr_assert_eq(backend_cpu.prepare(session, s, &list), ST_OK);
    for (size_t i = 0; i < list.count; i++) {
        struct verify_report report;
        struct verify_job job = {
            .backend = &backend_cpu,
            .session = session,
            .signature = s,
            .reference = ref_compute,
            .run = run_routine,
            .context = &i,
            .seed = 3,
        };
        verify_subject(&job, &report);
        cr_assert_eq(report.status, RESULT_PASSED, "%s by %s: %s", text, list.name[i],
                     report.reason);
    }
    return list.count;
}

static bool offers(const struct tilewise_signature *s, const char *name)
{
    struct backend_routines list;
    cr_assert_eq(backend_cpu.prepare(session, s, &list), ST_OK);
    for (size_t i = 0; i < list.count; i++)
        if (strcmp(list.name[i], name) == 0)
            return true;
    return false;
}

Test(cpu_routine, any_gemm)
{
    uint64_t state = 9;
    for (int i = 0; i < 60; i++) {
        struct tilewise_signature s =
            fixture_random_gemm(i % 2 ? TILEWISE_F32 : TILEWISE_F64, &state, 24);
        cr_assert_geq(verify_all(&s), 1);
    }
}

/* m = 1, n = 1, k = 1 and their combinations, in all layouts: gemv, dot, ger. */
Test(cpu_routine, degenerate_gemms)
{
    uint64_t state = 5;
    for (int i = 0; i < 120; i++) {
        struct tilewise_signature s =
            fixture_random_gemm(i % 2 ? TILEWISE_F32 : TILEWISE_F64, &state, 12);
        s.m = i & 4 ? 1 : s.m;
        s.n = i & 8 ? 1 : s.n;
        s.k = i & 16 ? 1 : s.k;
        s.lda = s.ldb = s.ldc = 13;
        verify_all(&s);
    }
}

Test(cpu_routine, one_column_offers_gemv)
{
    struct tilewise_signature s = fixture_gemm(TILEWISE_F32, 30, 1, 20);
    cr_assert(offers(&s, "sgemv"));
    s = fixture_gemm(TILEWISE_F64, 1, 30, 20);
    cr_assert(offers(&s, "dgemv"));
    s = fixture_gemm(TILEWISE_F32, 2, 30, 20);
    cr_assert_not(offers(&s, "sgemv"));
}

Test(cpu_routine, rank_one_update_offers_ger_only_if_c_is_kept)
{
    struct tilewise_signature s = fixture_gemm(TILEWISE_F32, 30, 20, 1);
    cr_assert_not(offers(&s, "sger"));
    s.beta = TILEWISE_SCALAR_ONE;
    cr_assert(offers(&s, "sger"));
}

Test(cpu_routine, inner_product_offers_dot)
{
    struct tilewise_signature s = fixture_gemm(TILEWISE_F32, 1, 1, 50);
    cr_assert(offers(&s, "sdot"));
}

Test(cpu_routine, gemv_in_all_layouts)
{
    for (int i = 0; i < 32; i++) {
        struct tilewise_signature s = fixture_gemv(i & 1 ? TILEWISE_F32 : TILEWISE_F64, 9, 14);
        s.layout = i >> 1 & 1;
        s.trans_a = i >> 2 & 1;
        s.lda = 17;
        s.ldb = i & 8 ? 3 : 1;
        s.ldc = i & 16 ? 2 : 1;
        s.beta = TILEWISE_SCALAR_OTHER;
        verify_all(&s);
    }
}

Test(cpu_routine, gemv_with_negative_increments)
{
    struct tilewise_signature s = fixture_gemv(TILEWISE_F32, 9, 14);
    s.ldb = -2, s.ldc = -1;
    cr_assert_eq(verify_all(&s), 1, "only gemv itself");
}

Test(cpu_routine, add_of_vectors)
{
    struct tilewise_signature s = fixture_add(TILEWISE_F32, 333);
    cr_assert_geq(verify_all(&s), 1);
    s = fixture_add(TILEWISE_F64, 100);
    s.ldb = 3, s.ldc = -2, s.alpha = TILEWISE_SCALAR_OTHER;
    cr_assert_geq(verify_all(&s), 1);
}

Test(cpu_routine, add_of_matrices)
{
    for (int i = 0; i < 8; i++) {
        struct tilewise_signature s = fixture_add(i & 1 ? TILEWISE_F32 : TILEWISE_F64, 7);
        s.n = 5;
        s.layout = i >> 1 & 1;
        int64_t inner = s.layout == TILEWISE_ROW_MAJOR ? 5 : 7;
        s.ldb = inner + (i & 4 ? 2 : 0);
        s.ldc = inner + (i & 4 ? 3 : 0);
        cr_assert_geq(verify_all(&s), 1);
    }
}

Test(cpu_routine, syrk_is_alone)
{
    for (int i = 0; i < 8; i++) {
        struct tilewise_signature s = fixture_gemm(i & 1 ? TILEWISE_F32 : TILEWISE_F64, 11, 11, 6);
        s.uplo = i & 2 ? TILEWISE_UPPER : TILEWISE_LOWER;
        s.layout = i >> 2;
        s.trans_b = TILEWISE_T;
        s.lda = s.ldb = s.ldc = 12;
        cr_assert_eq(verify_all(&s), 1);
    }
}

Test(cpu_routine, strided_batches)
{
    struct tilewise_signature s = fixture_gemm(TILEWISE_F32, 6, 1, 8);
    s.batch_kind = TILEWISE_BATCH_STRIDED;
    s.batch = 3;
    s.stride_a = 48, s.stride_b = 8, s.stride_c = 10;
    cr_assert_geq(verify_all(&s), 2);
}

/* Largest difference between routine `index` and the recorded one, on the same data. */
static double difference(const struct tilewise_signature *s, size_t index)
{
    struct operand shapes[OPERAND_COUNT];
    struct data_image image[OPERAND_COUNT], first;
    struct data_recipe recipe = { .class = DATA_NORMAL, .seed = 4, .depth = operand_depth(s) };
    const double scalar[] = { 1.5, -0.5 };
    const float narrow[] = { 1.5f, -0.5f };
    bool wide = s->dtype_c == TILEWISE_C128;
    size_t zero = 0;
    cr_assert_eq(operand_layout(s, shapes, NULL), ST_OK);
    cr_assert_eq(data_create(&first, &shapes[OPERAND_C]), ST_OK);
    for (int i = 0; i < OPERAND_COUNT; i++) {
        cr_assert_eq(data_create(&image[i], &shapes[i]), ST_OK);
        data_fill(&image[i], (enum operand_name)i, &recipe);
    }
    struct tilewise_args args = {
        .a = image[OPERAND_A].bytes + image[OPERAND_A].first_byte,
        .b = image[OPERAND_B].bytes + image[OPERAND_B].first_byte,
        .c = first.bytes + first.first_byte,
        .alpha = wide ? (const void *)scalar : narrow,
        .beta = wide ? (const void *)scalar : narrow,
    };
    memcpy(first.bytes, image[OPERAND_C].bytes, first.total_bytes);
    cr_assert_eq(run_routine(&zero, &args), 0);
    args.c = image[OPERAND_C].bytes + image[OPERAND_C].first_byte;
    cr_assert_eq(run_routine(&index, &args), 0);
    double worst = 0;
    for (size_t at = 0; at < first.total_bytes; at += wide ? 8 : 4) {
        double a, b;
        float x, y;
        memcpy(&x, first.bytes + at, 4);
        memcpy(&y, image[OPERAND_C].bytes + at, 4);
        a = (double)x, b = (double)y;
        if (wide) {
            memcpy(&a, first.bytes + at, 8);
            memcpy(&b, image[OPERAND_C].bytes + at, 8);
        }
        worst = isnan(a) && isnan(b) ? worst : fmax(worst, isfinite(a - b) ? fabs(a - b) : 1e300);
    }
    for (int i = 0; i < OPERAND_COUNT; i++)
        data_release(&image[i]);
    data_release(&first);
    return worst;
}

Test(cpu_routine, complex_alternatives_agree)
{
    size_t compared = 0;
    for (int i = 0; i < 64; i++) {
        struct tilewise_signature s =
            fixture_gemm(i & 1 ? TILEWISE_C64 : TILEWISE_C128, i & 2 ? 1 : 6, i & 4 ? 1 : 7, 5);
        struct backend_routines list;
        s.layout = i >> 3 & 1;
        s.trans_a = (uint8_t)(i >> 4 & 1 ? TILEWISE_C : TILEWISE_N);
        s.trans_b = (uint8_t)(i >> 5 & 1 ? TILEWISE_T : TILEWISE_N);
        s.alpha = s.beta = TILEWISE_SCALAR_OTHER;
        s.lda = s.ldb = s.ldc = 9;
        cr_assert_eq(backend_cpu.prepare(session, &s, &list), ST_OK);
        for (size_t j = 1; j < list.count; j++, compared++)
            cr_assert_lt(difference(&s, j), 1e-4, "case %d: %s", i, list.name[j]);
    }
    cr_assert_geq(compared, 12);
}

/* ---- bf16: on a library that has it, which few have ---- */

static double bf16_at(const uint16_t *x, int64_t i)
{
    return number_load(TILEWISE_BF16, x, i);
}

static void plain_sbgemm(int layout, int ta, int tb, int m, int n, int k, float alpha,
                         const uint16_t *a, int lda, const uint16_t *b, int ldb, float beta,
                         float *c, int ldc)
{
    bool rows = layout == 101;
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            double sum = 0;
            float *at = &c[rows ? i * ldc + j : j * ldc + i];
            for (int p = 0; p < k; p++)
                sum += bf16_at(a, rows == (ta == 111) ? i * lda + p : p * lda + i) *
                       bf16_at(b, rows == (tb == 111) ? p * ldb + j : j * ldb + p);
            *at = (float)(alpha * sum + (beta == 0 ? 0 : beta * *at));
        }
}

static void plain_sbgemv(int layout, int trans, int m, int n, float alpha, const uint16_t *a,
                         int lda, const uint16_t *x, int incx, float beta, float *y, int incy)
{
    bool rows = layout == 101, flipped = trans != 111;
    for (int i = 0; i < (flipped ? n : m); i++) {
        double sum = 0;
        for (int p = 0; p < (flipped ? m : n); p++) {
            int row = flipped ? p : i, column = flipped ? i : p;
            sum += bf16_at(a, rows ? row * lda + column : column * lda + row) *
                   bf16_at(x, (int64_t)p * incx);
        }
        y[i * incy] = (float)(alpha * sum + (beta == 0 ? 0 : beta * y[i * incy]));
    }
}

static void plain_widen(int n, const uint16_t *x, int incx, float *y, int incy)
{
    for (int i = 0; i < n; i++)
        y[i * incy] = (float)bf16_at(x, (int64_t)i * incx);
}

static void plain_narrow(int n, const float *x, int incx, uint16_t *y, int incy)
{
    for (int i = 0; i < n; i++)
        number_store(TILEWISE_BF16, y, (int64_t)i * incy, (double)x[i * incx]);
}

static const struct cpu_blas with_bf16 = {
    .sbgemm = plain_sbgemm,
    .sbgemv = plain_sbgemv,
    .sbf16tos = plain_widen,
    .sbstobf16 = plain_narrow,
};

static int run_bf16(void *context, const struct tilewise_args *args)
{
    static float wide[4096];
    const struct cpu_routine *r = context;
    struct cpu_call call = r->call;
    call.a = r->swapped ? args->b : args->a;
    call.b = r->swapped ? args->a : args->b;
    call.c = args->c;
    call.alpha = args->alpha;
    call.beta = args->beta;
    call.wide = r->name[0] ? wide : NULL;
    r->run(&with_bf16, &call);
    return 0;
}

static size_t verify_bf16(struct tilewise_signature s)
{
    struct cpu_routine rows[BACKEND_ROUTINES_MAX];
    s.compute = s.scale = TILEWISE_F32;
    size_t count = cpu_routine_list(&with_bf16, &s, rows);
    for (size_t i = 0; i < count; i++) {
        struct verify_report report;
        struct verify_job job = {
            .backend = &backend_cpu,
            .session = session,
            .signature = &s,
            .reference = ref_compute,
            .run = run_bf16,
            .context = &rows[i],
            .seed = 3,
        };
        cr_assert_eq(strncmp(rows[i].name, "sbgem", 5), 0, "%s", rows[i].name);
        if (cpu_routine_wide_bytes(&s) == 0)
            rows[i].name[0] = '\0';
        verify_subject(&job, &report);
        cr_assert_eq(report.status, RESULT_PASSED, "%zu: %s", i, report.reason);
    }
    return count;
}

Test(cpu_routine, bf16_with_results_in_f32_and_bf16)
{
    uint64_t state = 21;
    for (int i = 0; i < 60; i++) {
        struct tilewise_signature s = fixture_random_gemm(TILEWISE_BF16, &state, 24);
        if (i & 1)
            s.dtype_c = s.dtype_d = TILEWISE_F32;
        cr_assert_geq(verify_bf16(s), 1);
    }
}

Test(cpu_routine, bf16_vectors_offer_sbgemv)
{
    uint64_t state = 22;
    for (int i = 0; i < 40; i++) {
        struct tilewise_signature s = fixture_random_gemm(TILEWISE_BF16, &state, 12);
        s.m = i & 1 ? 1 : s.m;
        s.n = i & 1 ? s.n : 1;
        s.lda = s.ldb = s.ldc = 13;
        cr_assert_geq(verify_bf16(s), 2);
    }
}

Test(cpu_routine, bf16_needs_a_library_that_has_it)
{
    struct tilewise_signature s = fixture_gemm(TILEWISE_BF16, 40, 1, 72);
    char why[160] = "";
    s.compute = s.scale = TILEWISE_F32;
    if (cpu_blas_has_bf16())
        cr_assert_eq(verify_all(&s), 2);
    else
        cr_assert_not(backend_cpu.supports(&s, why, sizeof why));
    if (why[0])
        cr_assert_not_null(strstr(why, "cblas_sbgemm"), "%s", why);
    struct cpu_routine rows[BACKEND_ROUTINES_MAX];
    const struct cpu_blas without = { .handle = NULL };
    cr_assert_eq(cpu_routine_list(&without, &s, rows), 0);
}

static bool refused(const struct tilewise_signature *s)
{
    char why[160] = "";
    return !backend_cpu.supports(s, why, sizeof why) && why[0] != '\0';
}

Test(cpu_routine, refuses_what_it_cannot_do)
{
    struct tilewise_signature good = fixture_gemm(TILEWISE_F32, 4, 4, 4), s = good;
    cr_assert_not(refused(&s));
    s.dtype_a = s.dtype_b = s.dtype_c = TILEWISE_F16;
    cr_assert(refused(&s));
    s = good, s.dtype_a = TILEWISE_F64;
    cr_assert(refused(&s));
    s = good, s.epilogue = 4;
    cr_assert(refused(&s));
    s = good, s.batch_kind = TILEWISE_BATCH_POINTERS;
    cr_assert(refused(&s));
    s = good, s.beta = TILEWISE_SCALAR_DEVICE;
    cr_assert(refused(&s));
    s = good, s.op = TILEWISE_OP_ATTENTION;
    cr_assert(refused(&s));
    s = good, s.m = s.lda = s.ldc = (int64_t)1 << 33;
    cr_assert(refused(&s));
    s = good, s.lda = 1;
    cr_assert(refused(&s));
}

/* ---- the cap ---- */

static const char *cap(const char *coretype, const char *l2, const char *core, bool avx512)
{
    static char text[192];
    struct cpu_blas_cap in = { coretype, l2, core, avx512, true };
    cpu_blas_explain_cap(&in, text, sizeof text);
    return text;
}

Test(cpu_cap, environment_variables_are_named)
{
    cr_assert_not_null(strstr(cap("Haswell", NULL, "Haswell", true), "OPENBLAS_CORETYPE=Haswell"));
    cr_assert_not_null(strstr(cap(NULL, "512", "Cooperlake", true), "OPENBLAS_L2_SIZE=512"));
}

Test(cpu_cap, weaker_core_than_the_processor)
{
    cr_assert_not_null(strstr(cap(NULL, NULL, "Zen", true), "AVX-512"));
    cr_assert_not_null(strstr(cap(NULL, NULL, "Prescott", false), "AVX2"));
}

Test(cpu_cap, own_choice_is_no_cap)
{
    cr_assert_str_eq(cap(NULL, NULL, "Cooperlake", true), "");
    cr_assert_str_eq(cap(NULL, NULL, "SkylakeX", true), "");
    cr_assert_str_eq(cap(NULL, NULL, "Haswell", false), "");
    cr_assert_str_eq(cap("", "", "Zen", false), "");
    cr_assert_str_eq(cap(NULL, NULL, "", true), "", "a library that says nothing");
}

Test(cpu_cap, session_sees_the_environment_and_can_drop_it)
{
    struct backend_info info;
    struct backend_session *own = NULL;
    setenv("OPENBLAS_L2_SIZE", "512", 1);
    cr_assert_eq(backend_cpu.open(&own, &(struct backend_options){ .threads = 1 }, NULL), ST_OK);
    backend_cpu.describe(own, &info);
    cr_assert_neq(info.capped[0], '\0');
    backend_cpu.close(own);
    struct backend_options uncap = { .threads = 1, .uncap_baseline = true };
    cr_assert_eq(backend_cpu.open(&own, &uncap, NULL), ST_OK);
    cr_assert_null(getenv("OPENBLAS_L2_SIZE"));
    cr_assert_null(getenv("OPENBLAS_CORETYPE"));
    backend_cpu.close(own);
}
