/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/escape.h"
#include "analysis/html.h"
#include "analysis/trace_names.h"
#include "analysis/words.h"

static void tile(FILE *out, bool bad, const char *name, const char *value, const char *small)
{
    fprintf(out, "<div%s><dt>%s</dt><dd>%s<small>%s</small></dd></div>\n",
            bad ? " class=\"bad\"" : "", name, value, small);
}

static void machine(const struct analysis *a, FILE *out)
{
    const struct summary *s = a->summary;
    fputs("<p class=\"sub\">", out);
    trace_devices(a, "device unknown", " · GPU ", escape_html, out);
    fprintf(out, " · %zu process%s · %s of wall time · %zu windows</p>\n", s->nshards,
            s->nshards == 1 ? "" : "es", words_ns((double)s->wall_ns), s->nwindows);
}

/* Each with the limit of the policy, which it may have passed. */
static void tiles(const struct analysis *a, FILE *out)
{
    const struct summary *s = a->summary;
    const struct policy_evidence *p = &a->policy->evidence;
    char small[160];
    fputs("<dl class=\"coverage\" aria-label=\"Coverage and loss\">\n", out);
    snprintf(small, sizeof small, "%s in the trace of %s seen", words_count(s->calls),
             words_count(s->counters.seen));
    tile(out, !(a->coverage_calls >= 1 - p->lost), "coverage of calls",
         words_share(a->coverage_calls), small);
    snprintf(small, sizeof small, "replayable; needed: %s", words_share(p->coverage_time));
    tile(out, !(a->evidence.coverage_time >= p->coverage_time), "coverage of time",
         words_share(a->evidence.coverage_time), small);
    snprintf(small, sizeof small, "limit %s; failed in the library: %s", words_share(p->lost),
             words_count(s->counters.failed));
    tile(out, !(a->evidence.lost_share <= p->lost), "calls lost",
         words_share(a->evidence.lost_share), small);
    tile(out, !s->complete, "recording", s->complete ? "complete" : "INCOMPLETE",
         s->complete ? "every process ended cleanly" : "see the notes");
    fputs("</dl>\n", out);
}

static void losses(const struct trace_counters *c, FILE *out)
{
    bool any = false;
    for (unsigned cause = 0; cause < LOSS_MAX; cause++) {
        if (c->dropped[cause] == 0)
            continue;
        fprintf(out, "%s%s (%s)", any ? ", " : "<p class=\"notice\">Calls lost, by cause: ",
                words_count(c->dropped[cause]), words_loss(cause));
        any = true;
    }
    fputs(any ? ".</p>\n" : "", out);
}

void html_coverage(const struct analysis *a, FILE *out)
{
    fputs("<section id=\"coverage\">\n", out);
    machine(a, out);
    tiles(a, out);
    losses(&a->summary->counters, out);
    if (a->withheld[0])
        fprintf(out, "<p class=\"notice withheld\"><b>Every verdict is withheld:</b> %s.</p>\n",
                a->withheld);
    for (size_t i = 0; i < a->nnotes; i++) {
        fputs("<p class=\"notice\">", out);
        escape_html(out, a->notes[i]);
        fputs("</p>\n", out);
    }
    fputs("</section>\n", out);
}
