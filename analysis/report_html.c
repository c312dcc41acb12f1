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
#include "analysis/words.h"

enum { NAMES_MAX = 3 };

/* The files that the report is about, by their last part. */
static void names(const struct summary *s, FILE *out)
{
    const char *known[NAMES_MAX] = { 0 };
    size_t count = 0, more = 0;
    for (size_t i = 0; i < s->nshards; i++) {
        size_t k = 0;
        while (k < count && strcmp(known[k], s->shards[i].path) != 0)
            k++;
        if (k < count)
            continue;
        if (count == NAMES_MAX) {
            more++;
            continue;
        }
        const char *slash = strrchr(s->shards[i].path, '/');
        fputs(count ? ", " : "", out);
        escape_html(out, slash ? slash + 1 : s->shards[i].path);
        known[count++] = s->shards[i].path;
    }
    if (more)
        fprintf(out, " and %zu more", more);
}

static void head(const struct analysis *a, FILE *out)
{
    fprintf(out,
            "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
            "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
            "'sha256-%s'; base-uri 'none'; form-action 'none'\">\n"
            "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
            "<meta name=\"color-scheme\" content=\"light dark\">\n<title>tilewise report: ",
            html_style_sha256);
    names(a->summary, out);
    fprintf(out,
            "</title>\n<style>%s</style></head>\n<body><main>\n"
            "<a class=\"skip\" href=\"#verdicts\">Skip to the verdicts</a>\n"
            "<h1>tilewise report</h1>\n<p class=\"sub\"><b>",
            html_style);
    names(a->summary, out);
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
