/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>

#include <stdio.h>

#include "analysis/regimes.h"
#include "summary_fixture.h"

static struct policy policy;
static struct fixture *f;
static struct stability whole;
static struct regimes regimes;

static void setup(void)
{
    policy_default(&policy);
    f = fixture_new(20);
}

static void measure(void)
{
    fixture_done(f);
    const uint32_t *all = fixture_all(f);
    cr_assert_eq(stability_measure(&whole, &f->s, all, f->s.nsignatures, &policy), ST_OK);
    cr_assert_eq(regimes_measure(&regimes, &f->s, all, f->s.nsignatures, &whole, &policy), ST_OK);
}

static void calls(size_t w, int64_t m, uint64_t count, uint64_t ns)
{
    struct tilewise_signature s = fixture_gemm(m, 384, 1536);
    fixture_calls(f, w, &s, count, ns);
}

/* Decode: m is one of five batch sizes, always. Prefill: m is what the requests bring. */
static void serve(void)
{
    for (size_t w = 0; w < 20; w++) {
        for (int64_t m = 1; m <= 5; m++)
            calls(w, m, 100, 1000);
        for (int64_t i = 0; i < 50; i++)
            calls(w, 512 + (int64_t)w * 50 + i, 1, 10000);
    }
}

static const char *reason(void)
{
    static char text[480];
    snprintf(text, sizeof text, "Heat is high.");
    regimes_add_reason(&regimes, text, sizeof text);
    return text;
}

Test(regimes, decode_and_prefill_are_told_apart_by_size, .init = setup)
{
    serve();
    measure();
    cr_assert_eq(whole.level, STABILITY_VARYING);
    cr_assert_eq(regimes.count, 2);
    bool large_first = regimes.regime[0].least > 5;
    const struct regime *large = &regimes.regime[!large_first];
    const struct regime *small = &regimes.regime[large_first];
    cr_assert_eq(small->least, 1);
    cr_assert_eq(small->most, 5);
    cr_assert_eq(large->most, 511 + 20 * 50);
    cr_assert_eq(small->stability.level, STABILITY_STABLE);
    cr_assert_neq(large->stability.level, STABILITY_STABLE);
    cr_assert_float_eq(small->time_share, 0.5, 1e-9);
    cr_assert_not_null(strstr(reason(), "m 1 to 5 stable (k90 5)"), "%s", reason());
    cr_assert_not_null(strstr(reason(), " By regime: "));
}

Test(regimes, sizes_that_are_spread_are_one_regime, .init = setup)
{
    for (size_t w = 0; w < 20; w++)
        for (int64_t m = 1; m <= 256; m *= 2)
            calls(w, m, 10, 1000);
    measure();
    cr_assert_eq(regimes.count, 0);
    cr_assert_str_eq(reason(), "Heat is high.");
}

Test(regimes, two_fixed_widths_are_one_regime, .init = setup)
{
    for (size_t w = 0; w < 20; w++) {
        calls(w, 8, 100, 1000);
        calls(w, 2048, 100, 1000);
    }
    measure();
    cr_assert_eq(regimes.count, 0);
}

Test(regimes, a_few_large_calls_are_no_regime, .init = setup)
{
    for (size_t w = 0; w < 20; w++) {
        for (int64_t m = 1; m <= 8; m++)
            calls(w, m, 100, 1000);
        calls(w, 4096, 1, 40000); /* 5 % of the time */
    }
    measure();
    cr_assert_eq(regimes.count, 0);
}

/* Phases: index into strings, which hold their names. */
static void name_phases(struct summary_phase *phases, const char *first, const char *second)
{
    f->strings[2] = first;
    f->strings[3] = second;
    f->s.nstrings = 4;
    phases[0] = (struct summary_phase){ .name = 2 };
    phases[1] = (struct summary_phase){ .name = 3 };
    f->s.phases.phases = phases;
    f->s.phases.nphases = 2;
}

Test(regimes, phases_that_were_named_come_first, .init = setup)
{
    struct summary_phase phases[2];
    struct summary_phase_cell cells[FIXTURE_SIGNATURES];
    serve();
    name_phases(phases, "prefill", "decode");
    for (size_t i = 0; i < f->s.nsignatures; i++) {
        const struct summary_signature *row = &f->signatures[i];
        cells[i] = (struct summary_phase_cell){ .phase = row->signature.m < 512,
                                                .signature = (uint32_t)i,
                                                .calls = row->calls,
                                                .time_ns = row->time_ns };
    }
    f->s.phases.cells = cells;
    f->s.phases.ncells = f->s.nsignatures;
    measure();
    cr_assert_eq(regimes.count, 2);
    char name[48];
    bool decode_first = strcmp(regimes.regime[0].phase, "decode") == 0;
    const struct regime *decode = &regimes.regime[!decode_first];
    regimes_name(decode, name, sizeof name);
    cr_assert_str_eq(name, "decode");
    cr_assert_eq(decode->stability.level, STABILITY_STABLE);
    cr_assert_eq(decode->calls, 20 * 5 * 100);
    cr_assert_not_null(strstr(reason(), "decode stable"), "%s", reason());
    cr_assert_not_null(strstr(reason(), "prefill "), "%s", reason());
}

Test(regimes, one_phase_is_no_regime_and_clusters_are_looked_for, .init = setup)
{
    struct summary_phase phases[2];
    struct summary_phase_cell cells[FIXTURE_SIGNATURES];
    serve();
    name_phases(phases, "step", "other");
    for (size_t i = 0; i < f->s.nsignatures; i++)
        cells[i] = (struct summary_phase_cell){ .signature = (uint32_t)i,
                                                .calls = f->signatures[i].calls,
                                                .time_ns = f->signatures[i].time_ns };
    f->s.phases.cells = cells;
    f->s.phases.ncells = f->s.nsignatures;
    measure();
    cr_assert_eq(regimes.count, 2);
    cr_assert_null(regimes.regime[0].phase);
}

Test(regimes, names_are_escaped_and_reasons_cut_whole, .init = setup)
{
    struct regime r = { .phase = "a\x1b[31m\n" };
    char name[48], text[40] = "Heat is high.";
    regimes_name(&r, name, sizeof name);
    cr_assert_null(strpbrk(name, "\x1b\n"));
    serve();
    measure();
    regimes_add_reason(&regimes, text, sizeof text);
    cr_assert_str_eq(text, "Heat is high.");
}

Test(regimes, nothing_has_no_regimes, .init = setup)
{
    measure();
    cr_assert_eq(regimes.count, 0);
}
