/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "analysis/gate.h"
#include "cli/command.h"
#include "cli/inputs.h"
#include "cli/options.h"
#include "cli/output.h"

static const char *format = "text", *output = "", *policy_path = "", *base = "", *kernels = "";
static bool any_hardware;

static const struct option_row rows[] = {
    { "policy", 'p', OPTION_TEXT, "FILE", "thresholds, and what fails, in YAML", &policy_path,
      NULL },
    { "base", 'b', OPTION_TEXT, "BASE",
      "what it was before: a trace, a result, or a directory of them (or a history)", &base, NULL },
    { "kernel", 'k', OPTION_TEXT, "NAMES", "kernels that may not lose to the library (comma list)",
      &kernels, NULL },
    { "any-hardware", 0, OPTION_FLAG, NULL, "compare with a base of another machine", &any_hardware,
      NULL },
    { "format", 'f', OPTION_CHOICE, "FORMAT", "text or json", &format, "text|json" },
    OPTION_ROW_OUTPUT(&output),
    { 0 },
};

static const struct usage usage = {
    .command = "gate",
    .args = "TRACE... [RESULT.twr...]",
    .doc = "Fail a CI job on a regression, on drift, or on a kernel that is wrong; one line for "
           "each finding, with its numbers and its threshold.\v"
           "Directories stand for the traces and results in them. Exit status 0: nothing that "
           "fails. 1: a finding that fails. An unclear measurement or thin evidence never fails "
           "unless the policy asks for it: gate: { unclear: yes, withheld: yes }.",
    .options = rows,
    .min_args = 1,
    .max_args = -1,
};

static enum status write_gate(const struct gate *g, struct fault *fault)
{
    struct output out;
    enum status st = output_open(&out, output, fault);
    if (st != ST_OK)
        return st;
    if (strcmp(format, "json") == 0)
        st = gate_json(g, out.stream);
    else
        gate_text(g, out.stream);
    return output_close(&out, st, fault);
}

static enum status run(struct inputs *before, struct inputs *now, char *const *args, size_t count,
                       size_t *failing, struct fault *fault)
{
    struct policy policy;
    struct diff *d = NULL;
    struct gate *g = NULL;
    char *base_path = (char *)base;
    enum status st = policy_read(&policy, policy_path, fault);
    if (st == ST_OK)
        st = inputs_read(now, args, count, &policy, fault);
    if (st == ST_OK && base[0])
        st = inputs_read(before, &base_path, 1, &policy, fault);
    if (st == ST_OK && before->analysis)
        st = diff_build(&d, before->analysis, now->analysis, fault);
    const struct gate_input in = { now->analysis, d, &before->results, kernels, any_hardware };
    if (st == ST_OK)
        st = gate_run(&g, &in, fault);
    if (st == ST_OK) {
        *failing = g->failing;
        st = write_gate(g, fault);
    }
    gate_free(g);
    diff_free(d);
    return st;
}

int cmd_gate(int argc, char **argv)
{
    int first, code = options_parse(&usage, argc, argv, &first);
    if (code >= 0)
        return code;
    struct inputs before = { .may_lack_traces = true }, now = { .summary = NULL };
    struct fault fault = { .status = ST_NOMEM };
    size_t failing = 0;
    enum status st = run(&before, &now, argv + first, (size_t)(argc - first), &failing, &fault);
    inputs_free(&before);
    inputs_free(&now);
    if (st != ST_OK)
        return command_fault("gate", &fault);
    return failing ? EXIT_FINDING : EXIT_FINE;
}
