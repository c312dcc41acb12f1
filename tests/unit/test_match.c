/* SPDX-License-Identifier: Apache-2.0
 *
 * Which result belongs to which recorded signature.
 */
#include "analysis/match.h"

#include <criterion/criterion.h>
#include <stdlib.h>

#include "replay_fixture.h"

static const char *strings[] = { "", "cblas_sgemm", "cublasSgemm_v2" };
static struct summary_signature rows[2];
static struct summary summary;
static struct result_case cases[2];
static struct result_run run;
static struct result_set results;

static void set_up(void)
{
    for (uint32_t i = 0; i < 2; i++) {
        rows[i] = (struct summary_signature){ .signature = fixture_gemm(TILEWISE_F32, 8, 8, 8) };
        cases[i] =
            (struct result_case){ .signature = rows[i].signature, .entry = (char *)strings[i + 1] };
        rows[i].signature.entry = i + 1;
    }
    summary =
        (struct summary){ .strings = strings, .nstrings = 3, .signatures = rows, .nsignatures = 2 };
    run = (struct result_run){ .backend = (char *)"cuda" };
    results = (struct result_set){ .cases = cases, .ncases = 2, .runs = &run, .nruns = 1 };
}

TestSuite(match, .init = set_up);

static size_t match(const struct result_case *out[2])
{
    const struct result_case **found = NULL;
    size_t elsewhere = 9;
    cr_assert_eq(match_results(&found, &elsewhere, &summary, &results), ST_OK);
    out[0] = found[0];
    out[1] = found[1];
    free(found);
    return elsewhere;
}

Test(match, by_signature_and_entry_point)
{
    const struct result_case *found[2];
    cr_assert_eq(match(found), 0);
    cr_assert_eq(found[0], &cases[0]);
    cr_assert_eq(found[1], &cases[1]);
}

Test(match, a_processor_says_nothing_about_a_call_on_a_gpu)
{
    const struct result_case *found[2];
    run.backend = (char *)"cpu";
    cr_assert_eq(match(found), 1);
    cr_assert_eq(found[0], &cases[0]);
    cr_assert_null(found[1]);
}
