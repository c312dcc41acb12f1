/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>

#include "replay_fixture.h"
#include "replayer/plan.h"

enum { ROWS_MAX = 8 };

struct trace {
    struct summary summary;
    struct summary_signature rows[ROWS_MAX];
    const char *strings[2];
};

static struct trace *trace(void)
{
    static struct trace t;
    t = (struct trace){ .strings = { "", "cblas_sgemm" } };
    t.summary.signatures = t.rows;
    t.summary.strings = t.strings;
    t.summary.nstrings = 2;
    return &t;
}

static struct tilewise_signature *add_row(struct trace *t, uint64_t time_ns)
{
    struct summary_signature *row = &t->rows[t->summary.nsignatures++];
    row->signature = fixture_gemm(TILEWISE_F32, 8 + (int64_t)t->summary.nsignatures, 8, 8);
    row->signature.entry = 1;
    row->calls = 10;
    row->time_ns = time_ns;
    t->summary.time_ns += time_ns;
    return &row->signature;
}

static struct plan *build(struct trace *t, double share, uint64_t max_bytes)
{
    struct plan *plan = NULL;
    struct fault fault = { .text = "" };
    struct plan_options options = { .time_share = share,
                                    .max_bytes = max_bytes,
                                    .supports = fixture_supports };
    enum status st = plan_build(&plan, &t->summary, &options, &fault);
    cr_assert_eq(st, ST_OK, "%s", fault.text);
    return plan;
}

static bool is_named_cublas(const struct summary *s, const struct tilewise_signature *signature)
{
    return strncmp(s->strings[signature->entry], "cublas", 6) == 0;
}

static const uint64_t plenty = (uint64_t)1 << 40;

Test(plan, largest_first_until_the_share)
{
    struct trace *t = trace();
    add_row(t, 70), add_row(t, 20), add_row(t, 6), add_row(t, 4);
    struct plan *plan = build(t, 0.9, plenty);
    cr_assert_eq(plan->nitems, 4);
    cr_assert_eq(plan->nplanned, 2);
    cr_assert_float_eq(plan->planned_time_share, 0.9, 1e-12);
    cr_assert_eq(plan->items[1].fate, PLAN_MEASURE);
    cr_assert_eq(plan->items[2].fate, PLAN_REST);
    plan_free(plan);
}

Test(plan, rest_is_listed_with_its_share_and_reason)
{
    struct trace *t = trace();
    add_row(t, 99), add_row(t, 1);
    struct plan *plan = build(t, 0.95, plenty);
    cr_assert_float_eq(plan->items[1].time_share, 0.01, 1e-12);
    cr_assert_not_null(strstr(plan->items[1].reason, "--time-share"));
    plan_free(plan);
}

Test(plan, share_of_one_plans_everything)
{
    struct trace *t = trace();
    for (int i = 0; i < 7; i++)
        add_row(t, 3);
    struct plan *plan = build(t, 1, plenty);
    cr_assert_eq(plan->nplanned, 7);
    plan_free(plan);
}

Test(plan, share_of_zero_still_plans_the_largest)
{
    struct trace *t = trace();
    add_row(t, 3), add_row(t, 2);
    struct plan *plan = build(t, 0, plenty);
    cr_assert_eq(plan->nplanned, 1);
    plan_free(plan);
}

Test(plan, empty_trace_is_an_error)
{
    struct plan *plan = NULL;
    struct fault fault;
    struct plan_options options = { .time_share = 0.9,
                                    .max_bytes = plenty,
                                    .supports = fixture_supports };
    cr_assert_eq(plan_build(&plan, &trace()->summary, &options, &fault), ST_INVALID);
    cr_assert_not_null(strstr(fault.text, "no calls"));
}

Test(plan, unsupported_does_not_count_and_the_next_is_planned)
{
    struct trace *t = trace();
    add_row(t, 80)->op = TILEWISE_OP_CONV;
    add_row(t, 15);
    add_row(t, 5);
    struct plan *plan = build(t, 0.2, plenty);
    cr_assert_eq(plan->items[0].fate, PLAN_UNSUPPORTED);
    cr_assert_not_null(strstr(plan->items[0].reason, "conv"));
    cr_assert_eq(plan->nplanned, 2);
    plan_free(plan);
}

Test(plan, flag_of_the_recorder_is_obeyed)
{
    struct trace *t = trace();
    add_row(t, 80)->flags = TILEWISE_NOT_REPLAYABLE;
    struct plan *plan = build(t, 0.9, plenty);
    cr_assert_eq(plan->items[0].fate, PLAN_UNSUPPORTED);
    plan_free(plan);
}

Test(plan, memory_budget_refuses_by_size)
{
    struct trace *t = trace();
    struct tilewise_signature *s = add_row(t, 80);
    *s = fixture_gemm(TILEWISE_F64, 1000, 1000, 1000);
    struct plan *plan = build(t, 0.9, 1 << 20);
    cr_assert_eq(plan->items[0].fate, PLAN_TOO_LARGE);
    cr_assert_not_null(strstr(plan->items[0].reason, "--max-bytes"));
    plan_free(plan);
    plan = build(t, 0.9, 1 << 30);
    cr_assert_eq(plan->items[0].fate, PLAN_MEASURE);
    cr_assert_gt(plan->items[0].case_bytes, 24u * 1000 * 1000);
    plan_free(plan);
}

Test(plan, hostile_dimensions_never_wrap)
{
    const int64_t huge[] = { (int64_t)1 << 40, INT64_MAX / 2, INT64_MAX, -1, 0, INT64_MIN };
    for (size_t i = 0; i < sizeof huge / sizeof huge[0]; i++)
        for (int field = 0; field < 6; field++) {
            struct trace *t = trace();
            struct tilewise_signature *s = add_row(t, 80);
            int64_t *fields[] = { &s->m, &s->n, &s->k, &s->lda, &s->ldc, &s->batch };
            s->batch_kind = TILEWISE_BATCH_STRIDED;
            s->stride_a = s->stride_b = s->stride_c = (int64_t)1 << 30;
            *fields[field] = huge[i];
            struct plan *plan = build(t, 0.9, (uint64_t)1 << 30);
            cr_assert_neq(plan->items[0].fate, PLAN_MEASURE, "field %d value %zu", field, i);
            cr_assert_neq(plan->items[0].reason[0], '\0');
            plan_free(plan);
        }
}

Test(plan, hostile_string_index_is_no_entry)
{
    struct trace *t = trace();
    add_row(t, 80)->entry = 4000000000u;
    struct plan *plan = build(t, 0.9, plenty);
    cr_assert_str_eq(plan->items[0].entry, "");
    plan_free(plan);
}

Test(plan, entry_is_kept_beside_the_signature)
{
    struct trace *t = trace();
    add_row(t, 80);
    struct plan *plan = build(t, 0.9, plenty);
    cr_assert_str_eq(plan->items[0].entry, "cblas_sgemm");
    cr_assert_eq(plan->items[0].signature.entry, 0);
    plan_free(plan);
}

Test(plan, same_work_by_another_entry_is_a_twin_with_a_row_of_its_own)
{
    struct trace *t = trace();
    struct tilewise_signature *a = add_row(t, 60);
    struct tilewise_signature *b = add_row(t, 40);
    *b = *a;
    b->entry = 0;
    struct plan *plan = build(t, 1, plenty);
    cr_assert_eq(plan->nplanned, 2);
    cr_assert_eq(plan->items[0].twin, 0);
    cr_assert_eq(plan->items[1].twin, 0);
    plan_free(plan);
}

Test(plan, a_work_weighs_what_its_rows_weigh)
{
    struct trace *t = trace();
    struct tilewise_signature *a = add_row(t, 50);
    struct tilewise_signature *b = add_row(t, 30);
    struct tilewise_signature *c = add_row(t, 20);
    *b = *c = *a;
    c->align_a = 3; /* other work */
    struct plan *plan = build(t, 1, plenty);
    cr_assert_eq(plan->nplanned, 3);
    cr_assert_eq(plan->nworks, 2);
    cr_assert_eq(plan->items[1].twin, 0);
    cr_assert_eq(plan->items[2].twin, 2);
    cr_assert_float_eq(plan->items[0].work_share, 0.8, 1e-12);
    plan_free(plan);
}

Test(plan, unread_scalars_get_a_class_and_a_remark)
{
    struct trace *t = trace();
    struct tilewise_signature *s = add_row(t, 60);
    s->alpha = s->beta = TILEWISE_SCALAR_UNREAD;
    struct plan *plan = build(t, 1, plenty);
    cr_assert_eq(plan->items[0].signature.alpha, TILEWISE_SCALAR_ONE);
    cr_assert_eq(plan->items[0].signature.beta, TILEWISE_SCALAR_ZERO);
    cr_assert_eq(plan->items[0].fate, PLAN_MEASURE);
    cr_assert_not_null(strstr(plan->items[0].reason, "not recorded"));
    plan_free(plan);
}

Test(plan, budget_is_the_smaller_of_wish_and_memory)
{
    cr_assert_eq(plan_memory_budget(4096), 4096);
    cr_assert(plan_memory_budget(0) > 0 && plan_memory_budget(0) < ((uint64_t)1 << 50));
    cr_assert_leq(plan_memory_budget(UINT64_MAX), plan_memory_budget(0) * 2);
}

/* ---- layout of operands ---- */

Test(operand, strides_of_all_layouts)
{
    struct operand o[OPERAND_COUNT];
    struct tilewise_signature s = fixture_gemm(TILEWISE_F32, 3, 5, 7);
    s.lda = 20, s.ldb = 30, s.ldc = 40;
    cr_assert_eq(operand_layout(&s, o, NULL), ST_OK);
    cr_assert_eq(operand_index(&o[OPERAND_A], 0, 2, 6), 2 + 6 * 20);
    s.trans_a = TILEWISE_T;
    cr_assert_eq(operand_layout(&s, o, NULL), ST_OK);
    cr_assert_eq(operand_index(&o[OPERAND_A], 0, 2, 6), 6 + 2 * 20);
    s.layout = TILEWISE_ROW_MAJOR;
    cr_assert_eq(operand_layout(&s, o, NULL), ST_OK);
    cr_assert_eq(operand_index(&o[OPERAND_A], 0, 2, 6), 2 + 6 * 20);
    cr_assert_eq(operand_index(&o[OPERAND_C], 0, 2, 4), 2 * 40 + 4);
    cr_assert_eq(o[OPERAND_C].bytes, (2 * 40 + 4 + 1) * 4);
}

Test(operand, negative_increment_starts_at_the_far_end)
{
    struct operand o[OPERAND_COUNT];
    struct tilewise_signature s = fixture_gemv(TILEWISE_F64, 4, 3);
    s.ldb = -2;
    cr_assert_eq(operand_layout(&s, o, NULL), ST_OK);
    cr_assert_eq(operand_index(&o[OPERAND_B], 0, 0, 0), 4);
    cr_assert_eq(operand_index(&o[OPERAND_B], 0, 2, 0), 0);
    cr_assert_eq(o[OPERAND_B].bytes, 5 * 8);
}

Test(operand, refuses_zero_increment_small_ld_and_overlap)
{
    struct operand o[OPERAND_COUNT];
    struct tilewise_signature s = fixture_gemv(TILEWISE_F64, 4, 3);
    s.ldc = 0;
    cr_assert_eq(operand_layout(&s, o, NULL), ST_INVALID);
    s = fixture_gemm(TILEWISE_F32, 4, 4, 4);
    s.lda = 3;
    cr_assert_eq(operand_layout(&s, o, NULL), ST_INVALID);
    s = fixture_gemm(TILEWISE_F32, 4, 4, 4);
    s.batch_kind = TILEWISE_BATCH_STRIDED;
    s.batch = 2;
    s.stride_a = s.stride_b = 16, s.stride_c = 15;
    cr_assert_eq(operand_layout(&s, o, NULL), ST_INVALID);
}

Test(operand, depth_is_the_length_of_the_inner_product)
{
    struct tilewise_signature s = fixture_gemv(TILEWISE_F64, 4, 3);
    cr_assert_eq(operand_depth(&s), 3);
    s.trans_a = TILEWISE_T;
    cr_assert_eq(operand_depth(&s), 4);
    s = fixture_add(TILEWISE_F32, 9);
    cr_assert_eq(operand_depth(&s), 1);
}

/* A launch says nothing about the work: on a GPU the kernels' time counts, on a CPU that of the
 * call. */
Test(plan, work_on_a_gpu_counts_with_the_time_of_its_kernels)
{
    struct trace *t = trace();
    struct plan *plan = NULL;
    struct plan_options options = { .time_share = 1,
                                    .max_bytes = plenty,
                                    .is_on_gpu = is_named_cublas,
                                    .supports = fixture_supports };
    t->strings[0] = "cublasSgemm_v2";
    add_row(t, 900)->entry = 0;
    add_row(t, 60);
    add_row(t, 40)->entry = 0;
    t->rows[2].gpu_calls = 10;
    t->rows[2].gpu_measured_ns = 240;
    cr_assert_eq(plan_build(&plan, &t->summary, &options, NULL), ST_OK);
    cr_assert_eq(plan->items[0].signature.m, t->rows[2].signature.m);
    cr_assert(plan->items[0].on_gpu);
    cr_assert_float_eq(plan->items[0].time_share, 0.8, 1e-12);
    cr_assert_not(plan->items[1].on_gpu);
    cr_assert_float_eq(plan->items[1].time_share, 0.2, 1e-12);
    cr_assert_eq(plan->items[2].time_ns, 0, "its kernels were not measured");
    plan_free(plan);
}

Test(plan, other_work_is_named)
{
    struct trace *t = trace();
    add_row(t, 10)->op = TILEWISE_OP_ATTENTION;
    struct plan *plan = build(t, 1, plenty);
    cr_assert_eq(plan->items[0].fate, PLAN_UNSUPPORTED);
    cr_assert_eq(strncmp(plan->items[0].reason, "attention is counted", 20), 0);
    plan_free(plan);
}

/* ---- adds that the recorder knows by the name of their operator ---- */

static struct plan *plan_of_add(const char *kernel, uint16_t flags)
{
    static const char *strings[] = { "", "aten::add", NULL };
    static struct summary_kernel kernels[2];
    struct trace *t = trace();
    struct tilewise_signature *s = add_row(t, 10);
    *s = (struct tilewise_signature){ .op = TILEWISE_OP_ADD,
                                      .layout = TILEWISE_ROW_MAJOR,
                                      .dtype_a = TILEWISE_UNKNOWN,
                                      .dtype_b = TILEWISE_UNKNOWN,
                                      .dtype_c = TILEWISE_UNKNOWN,
                                      .dtype_d = TILEWISE_UNKNOWN,
                                      .compute = TILEWISE_UNKNOWN,
                                      .alpha = TILEWISE_SCALAR_UNREAD,
                                      .beta = TILEWISE_SCALAR_ONE,
                                      .flags = (uint16_t)(TILEWISE_NOT_REPLAYABLE | flags),
                                      .m = 64,
                                      .n = 100,
                                      .k = 1,
                                      .batch = 1,
                                      .entry = 1 };
    strings[2] = kernel;
    kernels[0] = (struct summary_kernel){ .name = 1, .signature = 7 };
    kernels[1] = (struct summary_kernel){ .name = 2, .signature = 0 };
    t->summary.strings = strings;
    t->summary.nstrings = 3;
    t->summary.kernels = kernels;
    t->summary.nkernels = 2;
    return build(t, 1, plenty);
}

static const char add_kernel[] =
    "_ZN2at6native29vectorized_elementwise_kernelILi8ENS0_15CUDAFunctor"
    "_addIN3c108BFloat16EEESt5arrayIPcLm3EEEEviT0_T1_";

Test(plan, add_of_pytorch_has_the_type_of_its_kernel)
{
    struct plan *plan = plan_of_add(add_kernel, 0);
    const struct plan_item *item = &plan->items[0];
    cr_assert_eq(item->fate, PLAN_MEASURE, "%s", item->reason);
    cr_assert_eq(item->signature.dtype_b, TILEWISE_BF16);
    cr_assert_eq(item->signature.m, 6400);
    cr_assert_eq(item->signature.alpha, TILEWISE_SCALAR_ONE);
    cr_assert_not_null(strstr(item->reason, "kernel"));
    cr_assert_not_null(strstr(item->reason, "; alpha"));
    struct tilewise_signature recorded = plan_recorded(item);
    cr_assert_eq(recorded.dtype_b, TILEWISE_UNKNOWN); /* the row keeps its name */
    cr_assert_eq(recorded.n, 100);
    plan_free(plan);
}

Test(plan, add_of_unknown_type_is_not_guessed)
{
    static const char *const kernels[] = { "CUDAFunctor_addIlE", "CUDAFunctorOnSelf_addIfE", "" };
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
        struct plan *plan = plan_of_add(kernels[i], 0);
        cr_assert_eq(plan->items[0].fate, PLAN_UNSUPPORTED, "%s", kernels[i]);
        plan_free(plan);
    }
    struct plan *plan = plan_of_add(add_kernel, 1 << TILEWISE_OTHER_SHIFT); /* broadcast */
    cr_assert_eq(plan->items[0].fate, PLAN_UNSUPPORTED);
    plan_free(plan);
}
