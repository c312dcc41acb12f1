/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include "analysis/escape.h"
#include "analysis/html.h"
#include "analysis/words.h"

enum { SHARDS_MAX = 50, FACTS_MAX = 60 };

static void methods(FILE *out)
{
    static const char *const rows[][2] = {
        { "Counts",
          "Calls were counted inside the recorded process, on their way into the library, with "
          "everything that changes what the library does and no values. What found no room was "
          "counted by cause; nothing is estimated into the counts. Failed calls are not work." },
        { "Times",
          "The time of a call is what it took its thread. On a GPU a call only launches work; "
          "there "
          "the time is that of its kernels, by the vendor's profiler in windows, taken for all "
          "calls of the signature. Where no window saw it, it is unknown, never the launch." },
        { "Heat",
          "The recorded timeline is replayed on paper with the operation at 0.8 times its "
          "duration; "
          "what the whole gains, over 0.2, is its heat. Work that hides behind other work has "
          "none. "
          "Without a timeline it is the share of the wall time, an upper bound. Interval: 95 %, by "
          "block bootstrap over stretches of the run." },
        { "Stability",
          "The run is cut into windows of equal numbers of calls. For each, the shapes that held "
          "95 "
          "% of the time so far are the table; cov05 is what that table holds of the next window, "
          "5th percentile, with its interval by order statistics. Drift is the Jensen–Shannon "
          "divergence of neighbouring windows and counts above what the same mix gives by "
          "chance." },
        { "Replay",
          "Shapes are run again with random data through the library and through candidates, "
          "largest time first. A candidate is timed for a verdict only if it passed against a "
          "reference in double precision with a bound per element. Rounds alternate; a ratio is "
          "faster or slower only where its interval clears the noise of the library against "
          "itself." },
        { "Not said",
          "What the trace does not cover; other loads than the recorded one; other machines than "
          "the one that replayed. A verdict is withheld where the evidence is thin." },
    };
    fputs("<dl class=\"method\">\n", out);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        fprintf(out, "<dt>%s</dt><dd>%s</dd>\n", rows[i][0], rows[i][1]);
    fputs("</dl>\n<p class=\"soft\">Formulas and their sources: docs/decision.md and "
          "docs/measuring.md of tilewise.</p>\n",
          out);
}

/* How each threshold is printed, by its type in POLICY_LIST. */
#define VALUE_REAL(v)    fprintf(out, "%g", v)
#define VALUE_SECONDS(v) fputs(words_ns(1e9 * (v)), out)
#define VALUE_COUNT(v)   fprintf(out, "%" PRIu64, v)
#define VALUE_FLAG(v)    fputs((v) ? "yes" : "no", out)
static void thresholds(const struct policy *p, FILE *out)
{
    fputs("<details class=\"facts\"><summary>Thresholds in force</summary>\n", out);
    html_open_table(out, "Thresholds", "<key|<value");
#define X(map, key, member, type, c_type, value, min, max)                                         \
    fputs("<tr><th scope=\"row\" class=\"t\">" #map " / " key "</th><td class=\"t\">", out);       \
    VALUE_##type(p->map.member);                                                                   \
    fputs("</td></tr>\n", out);
    POLICY_LIST(X)
#undef X
    html_close_table(out);
    fputs("</details>\n", out);
}
#undef VALUE_REAL
#undef VALUE_SECONDS
#undef VALUE_COUNT
#undef VALUE_FLAG

static void processes(const struct summary *s, FILE *out)
{
    fputs("<details class=\"facts\"><summary>Recorded processes</summary>\n", out);
    html_open_table(out, "Recorded processes", "<file|pid|wall|busy|calls|<end");
    for (size_t i = 0; i < s->nshards && i < SHARDS_MAX; i++) {
        const struct summary_shard *shard = &s->shards[i];
        fputs("<tr><td class=\"t\">", out);
        escape_html(out, shard->path);
        fprintf(out,
                "</td><td>%" PRIu32 "</td><td>%s</td><td>%s</td><td>%s</td><td class=\"t\">%s"
                "</td></tr>\n",
                shard->shard.id.pid, words_ns((double)shard->wall_ns),
                words_ns((double)shard->busy_ns), words_count(shard->shard.counters.recorded),
                shard->shard.complete ? "clean" : "cut off");
    }
    html_close_table(out);
    if (s->nshards > SHARDS_MAX)
        fprintf(out, "<p>%zu more processes are in tilewise info.</p>\n", s->nshards - SHARDS_MAX);
    fputs("</details>\n", out);
}

static void facts(const struct summary *s, FILE *out)
{
    fputs("<details class=\"facts\"><summary>What the recorder found</summary>\n", out);
    html_open_table(out, "Facts about the recorded processes", "<fact|<value");
    for (size_t i = 0; i < s->nfacts && i < FACTS_MAX; i++) {
        fputs("<tr><th scope=\"row\" class=\"t\">", out);
        escape_html(out, s->facts[i].key);
        fputs("</th><td class=\"t name\">", out);
        escape_html(out, s->facts[i].value);
        fputs("</td></tr>\n", out);
    }
    html_close_table(out);
    fputs("</details>\n", out);
}

void html_method(const struct analysis *a, FILE *out)
{
    fputs("<section id=\"method\"><h2>How this was measured</h2>\n", out);
    methods(out);
    thresholds(a->policy, out);
    processes(a->summary, out);
    facts(a->summary, out);
    fputs("</section>\n", out);
}
