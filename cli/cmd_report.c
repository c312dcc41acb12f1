/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "analysis/escape.h"
#include "analysis/phases.h"
#include "analysis/report.h"
#include "cli/command.h"
#include "cli/inputs.h"
#include "cli/options.h"
#include "cli/output.h"

static const char *format = "text", *output = "", *policy_path = "", *phase = "";

static const struct option_row rows[] = {
    { "format", 'f', OPTION_CHOICE, "FORMAT",
      "text, json, csv, md, html, or the dispatch table as YAML", &format,
      "text|json|csv|md|html|dispatch" },
    OPTION_ROW_OUTPUT(&output),
    OPTION_ROW_POLICY(&policy_path),
    { "phase", 0, OPTION_TEXT, "NAME", "only the calls made in this phase (record --nvtx)", &phase,
      NULL },
    { 0 },
};

static const struct usage usage = {
    .command = "report",
    .args = "TRACE... [RESULT.twr...]",
    .doc = "Say per operation whether a custom kernel is worth writing: the "
           "heat x stability "
           "matrix, verdicts with their reasons, and what replay measured.\v"
           "Several traces are merged first. Files that `tilewise replay -o` "
           "wrote are told apart "
           "by their content. What every number means: docs/decision.md.",
    .options = rows,
    .min_args = 1,
    .max_args = -1,
};

/* There are calls in the phase, or a name that has some is suggested. */
static enum status check_phase(const struct summary *s, struct fault *fault)
{
    const struct summary_phases *p = &s->phases;
    for (size_t i = 0; i < p->nphases; i++)
        if (p->phases[i].calls && strcmp(phases_name(s, (uint32_t)i), phase) == 0)
            return ST_OK;
    if (p->nphases == 0 || p->phases[0].calls == 0)
        return fault_set(fault, ST_INVALID, "--phase=%s: no phase was recorded: record --nvtx",
                         phase);
    char *most = escape_copy(phases_name(s, 0));
    fault_set(fault, ST_INVALID, "--phase=%s: no calls in a phase of that name; most are in: %s",
              phase, most ? most : "");
    free(most);
    return ST_INVALID;
}

static enum status write_report(const struct analysis *a, FILE *out)
{
    static const struct {
        const char *format;
        void (*write)(const struct analysis *, FILE *);
    } writers[] = { { "text", report_text },
                    { "csv", report_csv },
                    { "md", report_md },
                    { "html", report_html },
                    { "dispatch", report_dispatch } };
    for (size_t i = 0; i < sizeof writers / sizeof *writers; i++)
        if (strcmp(format, writers[i].format) == 0) {
            writers[i].write(a, out);
            return ST_OK;
        }
    return report_json(a, out);
}

static enum status write_output(const struct analysis *a, struct fault *fault)
{
    struct output out;
    enum status st = output_open(&out, output, fault);
    return st == ST_OK ? output_close(&out, write_report(a, out.stream), fault) : st;
}

static enum status run(struct inputs *in, char *const *args, size_t count, struct fault *fault)
{
    struct policy policy;
    enum status st = policy_read(&policy, policy_path, fault);
    if (st == ST_OK)
        st = inputs_read(in, args, count, &policy, fault);
    if (st == ST_OK && in->phase)
        st = check_phase(in->summary, fault);
    return st == ST_OK ? write_output(in->analysis, fault) : st;
}

int cmd_report(int argc, char **argv)
{
    int first, code = options_parse(&usage, argc, argv, &first);
    if (code >= 0)
        return code;
    struct inputs in = { .files_only = true, .phase = phase[0] ? phase : NULL };
    struct fault fault = { .status = ST_NOMEM };
    enum status st = run(&in, argv + first, (size_t)(argc - first), &fault);
    inputs_free(&in);
    return st == ST_OK ? EXIT_FINE : command_fault("report", &fault);
}
