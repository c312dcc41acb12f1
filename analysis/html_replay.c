/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <math.h>

#include "analysis/chart.h"
#include "analysis/escape.h"
#include "analysis/html.h"
#include "analysis/words.h"

enum { RUNS_MAX = 50 };

static void name(FILE *out, const char *label, const char *value)
{
    if (!value[0])
        return;
    fprintf(out, "<div><dt>%s</dt><dd>", label);
    escape_html(out, value);
    fputs("</dd></div>", out);
}

static void run(const struct result_run *r, FILE *out)
{
    char text[96];
    fputs("<dl class=\"facts\">", out);
    name(out, "device", r->device);
    name(out, "library", r->baseline_library);
    name(out, "its core", r->baseline_core);
    snprintf(text, sizeof text, "%" PRIu32 "%s", r->threads,
             r->baseline_capped ? ", with CAPPED instructions" : "");
    html_fact(out, "threads", text);
    html_fact(out, "planned", words_share(r->planned_time_share));
    html_fact(out, "noise", words_share(r->noise_floor));
    name(out, "date", r->date_utc);
    name(out, "protocol", r->protocol);
    fputs("</dl>\n", out);
}

static void runs(const struct result_set *results, FILE *out)
{
    fputs("<h3>Where and how</h3>\n", out);
    for (size_t i = 0; i < results->nruns && i < RUNS_MAX; i++)
        run(&results->runs[i], out);
    fputs("<p class=\"soft\">planned: share of the recorded time whose shapes were replayed. "
          "noise: band of 95 % of the library against itself.</p>\n",
          out);
}

static void in_order(const struct result_set *results, FILE *out)
{
    for (size_t i = 0; i < results->norders && i < RUNS_MAX; i++) {
        const struct result_order *row = &results->orders[i];
        struct fidelity_order f = fidelity_order(results, i);
        fputs("<p>In the recorded order, ", out);
        escape_html(out, row->source);
        fprintf(out, ": replayed / recorded <b>%s</b> in total, median error of a shape <b>%s</b>",
                words_real(f.total, 3), words_share(f.median_abs_error));
        if (isfinite(row->ratio))
            fprintf(out, "; with the quickest verified kernels <b>%s</b> times as fast (%s to %s)",
                    words_real(row->ratio, 3), words_real(row->ratio_lo, 3),
                    words_real(row->ratio_hi, 3));
        fputs(".</p>\n", out);
    }
}

static void fidelity(const struct analysis *a, FILE *out)
{
    const struct fidelity *f = &a->fidelity;
    fputs("<h3>Fidelity: did the replay do what the process did?</h3>\n", out);
    if (isnan(f->total))
        fputs("<p>Not measured: the trace holds no time to compare with.</p>\n", out);
    else {
        fprintf(out,
                "<p>Replayed time / recorded time: <b>%s</b> in total over %s signatures, median "
                "error of one <b>%s</b>",
                words_real(f->total, 3), words_count(f->signatures),
                words_share(f->median_abs_error));
        if (isfinite(f->same_kernel_share))
            fprintf(out, ", the same kernels in <b>%s</b> of the time",
                    words_share(f->same_kernel_share));
        fputs(".</p>\n", out);
    }
    in_order(a->results, out);
    chart_fidelity(a, out);
}

void html_replay(const struct analysis *a, FILE *out)
{
    fputs("<section id=\"replay\"><h2>Replay and fidelity</h2>\n", out);
    if (a->results->nruns == 0) {
        fputs(
            "<p>No replay was given: verdicts rest on the recording alone, and neither the limits "
            "of the machine (roofline) nor candidates are known. Run <code>tilewise replay -o "
            "result.twr TRACE…</code> and report again with the result.</p>\n</section>\n",
            out);
        return;
    }
    fprintf(out,
            "<p>Kernels at the measured ceiling would win <b>%s</b> of the whole (not known for a "
            "heat of %s).</p>\n<h3>Roofline: what the machine allows</h3>\n",
            words_share(a->potential), words_share(a->potential_unknown));
    if (!chart_roofline(a, out))
        fputs("<p>Not known: the replay measured no ceilings for these types.</p>\n", out);
    fputs("<h3>Candidates against the best library call</h3>\n", out);
    if (!chart_ratios(a, out))
        fputs("<p>No candidate was timed.</p>\n", out);
    fidelity(a, out);
    runs(a->results, out);
    fputs("</section>\n", out);
}
