/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <math.h>

#include "analysis/causal_attach.h"
#include "analysis/chart.h"
#include "analysis/escape.h"
#include "analysis/html.h"
#include "analysis/kernel_name.h"
#include "analysis/words.h"

enum { KERNELS_MAX = 20 };

static void kernel_row(const struct analysis *a, const struct summary_kernel *k, FILE *out)
{
    const struct summary *s = a->summary;
    char name[KERNEL_NAME_BYTES];
    fputs("<tr><td class=\"t name\">", out);
    escape_html(out, kernel_name(s->strings[k->name], name));
    fprintf(out, "</td><td class=\"t\">%s</td><td>%s</td><td>%s</td><td>%s</td></tr>\n",
            words_launcher(s, k), words_count(k->launches),
            words_share((double)k->time_ns / (double)s->gpu.kernel_ns),
            words_ns(k->measured ? (double)k->time_ns / (double)k->measured : NAN));
}

static void kernels(const struct analysis *a, FILE *out)
{
    const struct summary *s = a->summary;
    const struct summary_gpu *gpu = &s->gpu;
    if (gpu->totals.windows == 0)
        return;
    fprintf(out, "<h3>Kernels of the GPU</h3>\n<p>%s", words_windows(gpu));
    if (!isnan(gpu->busy_lo))
        fprintf(out, " (%s to %s)", words_share(gpu->busy_lo), words_share(gpu->busy_hi));
    if (gpu->kernel_ns)
        fprintf(out, ". <b>%s</b> of the GPU time belongs to recorded calls",
                words_share((double)gpu->attributed_ns / (double)gpu->kernel_ns));
    fputs(".</p>\n", out);
    if (gpu->kernel_ns == 0 || s->nkernels == 0)
        return;
    html_open_table(out, "Kernels by time", "<kernel|<launched by|launches|share of GPU time|mean");
    for (size_t i = 0; i < s->nkernels && i < KERNELS_MAX; i++)
        kernel_row(a, &s->kernels[i], out);
    html_close_table(out);
    if (s->nkernels > KERNELS_MAX)
        fprintf(out, "<p class=\"soft\">%s more rows are in the JSON report.</p>\n",
                words_count(s->nkernels - KERNELS_MAX));
}

void html_time(const struct analysis *a, FILE *out)
{
    char idle[320];
    fputs("<section id=\"time\"><h2>Busy and idle</h2>\n", out);
    if (causal_words_idle(a, idle, sizeof idle)) {
        fprintf(out, "<p>Idle: %s.</p>\n", idle);
        chart_timeline(a, out);
    } else
        fputs("<p>When the calls ran is not known: the trace holds counts without times of single "
              "calls, or fewer than five windows of the GPU.</p>\n",
              out);
    kernels(a, out);
    fputs("</section>\n", out);
}
