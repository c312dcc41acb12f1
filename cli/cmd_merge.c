/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "cli/command.h"
#include "cli/options.h"
#include "cli/output.h"
#include "traces/format.h"
#include "traces/merge.h"

static const char *output = "";

static const struct option_row rows[] = {
    { "output", 'o', OPTION_TEXT, "FILE", "the merged trace (required)", &output, NULL },
    { 0 },
};

static const struct usage usage = {
    .command = "merge",
    .args = "TRACE...",
    .doc = "Make one trace of many.\v"
           "The bytes of the result do not depend on the order of the traces or on how they were "
           "merged before. A process that is in several of them counts once; copies that are "
           "damaged in different places complete each other.",
    .options = rows,
    .min_args = 1,
    .max_args = -1,
};

int cmd_merge(int argc, char **argv)
{
    int first, code = options_parse(&usage, argc, argv, &first);
    if (code >= 0)
        return code;
    if (!*output) {
        fprintf(stderr, "tilewise merge: where to? give -o FILE\n");
        return EXIT_BAD_USAGE;
    }
    struct merge_report report;
    struct fault fault;
    if (output_spares(output, TRACE_KIND_MERGED, &fault) != ST_OK ||
        merge_files(output, (const char *const *)argv + first, (size_t)(argc - first), &report,
                    &fault) != ST_OK)
        return command_fault("merge", &fault);
    fprintf(stderr, "tilewise merge: %zu process%s", report.shards, report.shards == 1 ? "" : "es");
    if (report.duplicates)
        fprintf(stderr, ", %zu further cop%s left out", report.duplicates,
                report.duplicates == 1 ? "y" : "ies");
    if (report.damaged)
        fprintf(stderr, ", %zu damaged stretch%s left out", report.damaged,
                report.damaged == 1 ? "" : "es");
    fprintf(stderr, "\n");
    return report.damaged ? EXIT_FINDING : EXIT_FINE;
}
