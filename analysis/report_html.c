/* SPDX-License-Identifier: Apache-2.0
 *
 * One page, no network, no script. What comes from a trace goes through escape_html; the content
 * security policy would refuse it even if it did not.
 */
#include <string.h>

#include "analysis/escape.h"
#include "analysis/html.h"
#include "analysis/html_style.h"
#include "analysis/phases.h"
#include "analysis/report.h"
#include "analysis/trace_names.h"

static void head(const struct analysis *a, FILE *out)
{
    fprintf(out,
            "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
            "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
            "'sha256-%s'; base-uri 'none'; form-action 'none'\">\n"
            "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
            "<meta name=\"color-scheme\" content=\"light dark\">\n<title>tilewise report: ",
            html_style_sha256);
    trace_names(a->summary, escape_html, out);
    fprintf(out,
            "</title>\n<style>%s</style></head>\n<body><main>\n"
            "<a class=\"skip\" href=\"#verdicts\">Skip to the verdicts</a>\n"
            "<h1>tilewise report</h1>\n<p class=\"sub\"><b>",
            html_style);
    trace_names(a->summary, escape_html, out);
    fputs("</b></p>\n", out);
}

static void contents(const struct analysis *a, FILE *out)
{
    static const char *const parts[][2] = {
        { "coverage", "Coverage" }, { "matrix", "Heat × stability" }, { "time", "Busy and idle" },
        { "verdicts", "Verdicts" }, { "phases", "Phases" },           { "shapes", "Shapes" },
        { "replay", "Replay" },     { "method", "How measured" }
    };
    fputs("<nav aria-label=\"Parts of this page\"><ul>", out);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (strcmp(parts[i][0], "phases") != 0 || a->summary->phases.nphases)
            fprintf(out, "<li><a href=\"#%s\">%s</a></li>", parts[i][0], parts[i][1]);
    fputs("</ul></nav>\n", out);
}

void report_html(const struct analysis *a, FILE *out)
{
    head(a, out);
    contents(a, out);
    html_coverage(a, out);
    html_matrix(a, out);
    html_time(a, out);
    html_cards(a, out);
    phases_html(a, out);
    html_shapes(a, out);
    html_replay(a, out);
    html_method(a, out);
    fputs("<p class=\"soft\">tilewise " TILEWISE_VERSION "</p>\n</main></body></html>\n", out);
}
