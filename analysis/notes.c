/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/notes.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "analysis/headroom.h"
#include "analysis/warnings.h"

enum { NOTES_MAX = 32, WARNINGS_MAX = 16 };

static void note(struct analysis *a, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void note(struct analysis *a, const char *format, ...)
{
    if (a->nnotes == NOTES_MAX)
        return;
    va_list args;
    va_start(args, format);
    vsnprintf(a->notes[a->nnotes++], sizeof *a->notes, format, args);
    va_end(args);
}

/* How many results nobody should believe, and the first of them. */
struct above {
    size_t baselines, candidates;
    char first[80];
};

static void count_above(const struct analysis *a, const struct result_case *row,
                        struct above *above)
{
    const struct tilewise_signature *s = &row->signature;
    const struct result_ceiling *c = headroom_ceiling(a->results, signature_rate_dtype(s));
    size_t before = above->baselines + above->candidates;
    above->baselines += headroom_above_ceiling(s, c, row->baseline_best_ns, &a->policy->headroom);
    for (size_t i = 0; i < row->ncandidates; i++)
        above->candidates +=
            headroom_above_ceiling(s, c, row->candidates[i].time_ns, &a->policy->headroom);
    if (before == 0 && above->baselines + above->candidates)
        signature_describe(s, above->first, sizeof above->first);
}

static void note_above(struct analysis *a, const struct above *above)
{
    if (above->baselines + above->candidates)
        note(a,
             "error: %zu baseline and %zu candidate results are above the measured ceiling "
             "(first: %s) and do not count; replay on a quiet machine",
             above->baselines, above->candidates, above->first);
}

/* Far from 1, the replay did not do what the process did. */
static void note_fidelity(struct analysis *a)
{
    const struct fidelity *f = &a->fidelity;
    if (f->other_card)
        note(a,
             "recorded on %s, replayed on another device: no fidelity is claimed, and gains are "
             "those of the other device",
             f->other_card);
    if (f->by_events)
        note(a,
             "%llu replayed shapes have no kernel times (no CUPTI): their fidelity compares time "
             "between events, gaps included, with kernel time",
             (unsigned long long)f->by_events);
    if (f->total < 0.8 || f->total > 1.25)
        note(a,
             "replayed time is %.2f of the recorded time: other load, threads or caches were part "
             "of the recording; read gains with care",
             f->total);
}

/* In front, as they say what coverage does not; a trace full of them leaves room for the others. */
static void note_warnings(struct analysis *a)
{
    const struct summary *s = a->summary;
    char text[WARNINGS_BYTES];
    size_t rest = 0;
    for (size_t i = 0; i < s->nfacts; i++) {
        if (!warnings_of(&s->facts[i], text))
            continue;
        if (a->nnotes < WARNINGS_MAX)
            note(a, "%s", text);
        else
            rest++;
    }
    if (rest)
        note(a, "%zu more warnings of the recorder: see tilewise info", rest);
}

static void note_launches(struct analysis *a)
{
    size_t launches = 0;
    for (size_t i = 0; i < a->nops; i++)
        launches += a->ops[i].heat.is_of_launches;
    if (launches)
        note(a, "%zu of %zu operations ran on a GPU and the time of their kernels is not known%s",
             launches, a->nops,
             a->summary->gpu.attributed_ns ? "" : ": all times are those of the host's calls");
}

enum status notes_collect(struct analysis *a)
{
    const struct summary *s = a->summary;
    a->notes = calloc(NOTES_MAX, sizeof *a->notes);
    if (!a->notes)
        return ST_NOMEM;
    note_warnings(a);
    note_launches(a);
    for (size_t i = 0; i < s->ndamage; i++)
        note(a, "damaged: %s", s->damage[i].what);
    if (!s->complete)
        note(a, "the recording did not end cleanly; what follows the last frame is not known");
    for (size_t i = 0; i < a->results->nruns; i++)
        if (a->results->runs[i].baseline_capped)
            note(a, "the baseline of a replay ran with capped instructions: no verdict uses it");
    if (a->results->ndamage)
        note(a, "a result file is damaged: rows may be missing");
    if (a->elsewhere)
        note(
            a,
            "%zu shape%s of a GPU replayed on a processor: nothing here uses that; replay on a GPU",
            a->elsewhere, a->elsewhere == 1 ? " was" : "s were");
    size_t unmatched = a->results->ncases - a->elsewhere;
    struct above above = { 0 };
    for (size_t i = 0; i < s->nsignatures; i++)
        if (a->result_of[i]) {
            unmatched -= unmatched > 0;
            count_above(a, a->result_of[i], &above);
        }
    note_above(a, &above);
    note_fidelity(a);
    if (unmatched)
        note(a, "%zu replayed case%s not in these traces, or measured twice", unmatched,
             unmatched == 1 ? " is" : "s are");
    if (a->timeline_fault[0])
        note(a, "heat is the wall share, the timeline could not be read: %s", a->timeline_fault);
    return ST_OK;
}
