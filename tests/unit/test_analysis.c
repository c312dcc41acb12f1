/* SPDX-License-Identifier: Apache-2.0 */
#include "report_fixture.h"

Test(analysis, results_of_another_entry_point_do_not_match, .init = setup_replay)
{
    cases[0].entry = "sgemm_";
    analyse();
    cr_assert_null(analysis->shapes[0].result);
    cr_assert_not_null(analysis->shapes[1].result);
    cr_assert(has(analysis->notes[0], "1 replayed case is not in these traces"));
}

Test(analysis, alignment_shares_a_row_and_strides_do_not, .init = build_trace)
{
    struct tilewise_signature s = fixture_gemm(16, 384, 1536);
    s.align_c = 3;
    fixture_calls(trace, 3, &s, 7, 100);
    s.lda = 2000;
    fixture_calls(trace, 4, &s, 8, 100);
    s.trans_a = TILEWISE_T;
    fixture_calls(trace, 5, &s, 9, 100);
    fixture_done(trace);
    analyse();
    /* three gemm, the wide and the transposed one, add */
    cr_assert_eq(analysis->nshapes, 6);
    cr_assert_eq(analysis->shapes[0].calls, 1007);
    cr_assert_eq(analysis->shapes[0].signatures, 2);
    expect(parse(print(JSON)), "shapes.0.signatures", "2");
}

Test(analysis, of_two_measurements_the_last_counts, .init = setup_replay)
{
    cases[1] = cases[0];
    cases[1].baseline_best_ns = 1234;
    analyse();
    cr_assert_eq(analysis->shapes[0].result->baseline_best_ns, 1234);
}

Test(analysis, a_result_above_the_ceiling_is_an_error_in_the_notes, .init = setup_replay)
{
    ceiling.rate_flops = 1e12;
    analyse();
    cr_assert_gt(analysis->nnotes, 0);
    cr_assert(has(analysis->notes[0], "error: 3 baseline and 3 candidate results are above the "
                                      "measured ceiling (first: f32 gemm 16x384x1536"),
              "%s", analysis->notes[0]);
    cr_assert_eq(analysis->nnotes, 1);
    cr_assert_neq(analysis->ops[0].decision.verdict, DECIDE_PILOT);
}

Test(analysis, little_potential_keeps_the_library, .init = setup_replay)
{
    /* At the ceiling already: 2 m n k / t for the largest shape. */
    ceiling.rate_flops = 2.0 * 16 * 384 * 1536 / 2690e-9;
    for (int i = 0; i < 3; i++) {
        candidates[i].time_ns = 1e6;
        cases[i].baseline_best_ns = signature_flops(&cases[i].signature) / ceiling.rate_flops * 1e9;
        cases[i].baseline_best_ns += 51;
    }
    analyse();
    cr_assert_lt(analysis->potential, 0.03);
    cr_assert_lt(analysis->potential_unknown, 0.03);
    cr_assert_eq(analysis->ops[0].decision.verdict, DECIDE_KEEP_BASELINE);
}

Test(analysis, classes_add_up_to_their_op, .init = setup)
{
    uint64_t calls = 0, time_ns = 0;
    double heat = 0;
    for (size_t i = 0; i < analysis->nclasses; i++)
        if (analysis->classes[i].op == TILEWISE_OP_GEMM) {
            calls += analysis->classes[i].calls;
            time_ns += analysis->classes[i].time_ns;
            heat += analysis->classes[i].heat.value;
        }
    cr_assert_eq(calls, analysis->ops[0].calls);
    cr_assert_eq(time_ns, analysis->ops[0].time_ns);
    cr_assert_float_eq(heat, analysis->ops[0].heat.value, 1e-9);
    cr_assert_eq(analysis->nclasses, 3); /* skinny (16), small (32, 48), add vector */
}
