/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "analysis/diff.h"
#include "cli/command.h"
#include "cli/inputs.h"
#include "cli/options.h"
#include "cli/output.h"

static const char *format = "text", *output = "", *policy_path = "";

static const struct option_row rows[] = {
    { "format", 'f', OPTION_CHOICE, "FORMAT", "text, json or md", &format, "text|json|md" },
    OPTION_ROW_OUTPUT(&output),
    OPTION_ROW_POLICY(&policy_path),
    { 0 },
};

static const struct usage usage = {
    .command = "diff",
    .args = "BASE NEW",
    .doc = "Say whether the workload has drifted since BASE, and which verdicts changed, with "
           "reasons.\v"
           "Each is a trace, or a directory of traces and results of replays. Exit status 0: "
           "nothing to report. 1: a mix of shapes drifted or a verdict changed. What the numbers "
           "mean: docs/decision.md.",
    .options = rows,
    .min_args = 2,
    .max_args = 2,
};

static enum status write_diff(const struct diff *d, FILE *out)
{
    if (strcmp(format, "json") == 0)
        return diff_json(d, out);
    (strcmp(format, "md") == 0 ? diff_md : diff_text)(d, out);
    return ST_OK;
}

static enum status compare(struct inputs side[DIFF_SIDES], char *const *args, size_t *findings,
                           struct fault *fault)
{
    struct policy policy;
    struct diff *d = NULL;
    struct output out;
    enum status st = policy_read(&policy, policy_path, fault);
    for (int i = 0; i < DIFF_SIDES && st == ST_OK; i++)
        st = inputs_read(&side[i], &args[i], 1, &policy, fault);
    if (st == ST_OK)
        st = diff_build(&d, side[DIFF_BEFORE].analysis, side[DIFF_AFTER].analysis, fault);
    if (st == ST_OK)
        st = output_open(&out, output, fault);
    if (st == ST_OK) {
        *findings = diff_findings(d);
        st = output_close(&out, write_diff(d, out.stream), fault);
    }
    diff_free(d);
    return st;
}

int cmd_diff(int argc, char **argv)
{
    int first, code = options_parse(&usage, argc, argv, &first);
    if (code >= 0)
        return code;
    struct inputs side[DIFF_SIDES] = { { .summary = NULL } };
    struct fault fault = { .status = ST_NOMEM };
    size_t findings = 0;
    enum status st = compare(side, argv + first, &findings, &fault);
    for (int i = 0; i < DIFF_SIDES; i++)
        inputs_free(&side[i]);
    if (st != ST_OK)
        return command_fault("diff", &fault);
    return findings ? EXIT_FINDING : EXIT_FINE;
}
