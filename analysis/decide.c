/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/decide.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *decide_word(enum decide_verdict v)
{
    static const char *const words[] = {
#define X(id, word, advice) word,
        DECIDE_VERDICT_LIST(X)
#undef X
    };
    return words[v];
}

const char *decide_advice(enum decide_verdict v)
{
    static const char *const advices[] = {
#define X(id, word, advice) advice,
        DECIDE_VERDICT_LIST(X)
#undef X
    };
    return advices[v];
}

static struct decide_result result(enum decide_verdict verdict, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static struct decide_result result(enum decide_verdict verdict, const char *format, ...)
{
    struct decide_result r = { .verdict = verdict };
    va_list args;
    va_start(args, format);
    vsnprintf(r.reason, sizeof r.reason, format, args);
    va_end(args);
    return r;
}

const char *decide_withheld(const struct decide_evidence *e, const struct policy_evidence *policy,
                            char *text, size_t text_bytes)
{
    if (isnan(e->coverage_time))
        snprintf(text, text_bytes,
                 "the trace holds no call whose time is known; record the program at work");
    else if (!(e->coverage_time >= policy->coverage_time))
        snprintf(text, text_bytes,
                 "only %.1f %% of the time is in recorded calls that a replay can repeat, %.0f %% "
                 "is needed; see what was lost, and \"replayable\" in the JSON report",
                 100 * e->coverage_time, 100 * policy->coverage_time);
    else if (!(e->lost_share <= policy->lost))
        snprintf(text, text_bytes,
                 "the trace lost %.2f %% of the calls, %.0f %% is the limit; record again with "
                 "larger buffers or more space",
                 100 * e->lost_share, 100 * policy->lost);
    else if (!(e->windows >= policy->windows))
        snprintf(text, text_bytes,
                 "the trace holds %" PRIu64 " windows of at least %" PRIu64 " calls, %" PRIu64
                 " are needed; record longer",
                 e->windows, policy->calls_per_window, policy->windows);
    else
        return NULL;
    return text;
}

/* "Heat 0.42 (0.38 to 0.47)" */
static const char *heat_words(const struct heat *h, char *text, size_t bytes)
{
    snprintf(text, bytes, "Heat %.3f (%.3f to %.3f)", h->value, h->lo, h->hi);
    return text;
}

/* The measure that fails at the grain that came nearest, in words. */
static const char *shape_words(const struct stability *s, const struct policy_stability *p,
                               char *text, size_t bytes)
{
    const struct stability_grain *g = s->level == STABILITY_BUCKETABLE ? &s->bucket : &s->raw;
    int used = snprintf(text, bytes, "%s%" PRIu64 " shape%s 90 %% of the time, coverage %.2f",
                        s->level == STABILITY_BUCKETABLE ? "once padded, " : "", g->k90,
                        g->k90 == 1 ? " holds" : "s hold", g->cov05);
    if (s->level != STABILITY_VARYING || used < 0 || (size_t)used >= bytes)
        return text;
    const char *why = g->k90 > p->k90             ? "too many shapes"
                      : !(g->cov05 >= p->cov05)   ? "the table of yesterday misses tomorrow"
                      : !(g->unseen <= p->unseen) ? "new shapes keep coming"
                                                  : "the mix drifts";
    snprintf(text + used, bytes - (size_t)used, " (%s)", why);
    return text;
}

/* "m and n", or "no single dimension". */
static const char *moving_words(const struct stability *s, char *text, size_t bytes)
{
    size_t used = 0;
    snprintf(text, bytes, "no single dimension");
    for (enum shape_dimension d = 0; d < SHAPE_DIMENSIONS; d++)
        if (s->moving[d]) {
            int more = snprintf(text + used, bytes - used, "%s%s", used ? ", " : "",
                                shape_dimension_name(d));
            used += more > 0 ? (size_t)more : 0;
        }
    return text;
}

/* What would make a hot operation with varying shapes one for a kernel. */
static const char *steadier_words(const struct stability *s, const struct policy_stability *p,
                                  const char *moving, char *text, size_t bytes)
{
    bool moves = false;
    for (enum shape_dimension d = 0; d < SHAPE_DIMENSIONS; d++)
        moves = moves || s->moving[d];
    if (moves || s->raw.k90 > p->k90)
        snprintf(text, bytes, "Padding or batching%s%s to at most %" PRIu64 " shapes",
                 moves ? " " : "", moves ? moving : "", p->k90);
    else
        snprintf(text, bytes, "A mix of shapes that stays the same (coverage of at least %.2f)",
                 p->cov05);
    return text;
}

static struct decide_result decide_matrix(const struct decide_input *in,
                                          const struct policy *policy)
{
    char heat[96], shape[160], moving[64], steadier[120];
    const struct stability *s = in->stability;
    bool hot = in->heat->level == HEAT_HIGH, varying = s->level == STABILITY_VARYING;
    heat_words(in->heat, heat, sizeof heat);
    shape_words(s, &policy->stability, shape, sizeof shape);
    moving_words(s, moving, sizeof moving);
    if (!hot && varying)
        return result(
            DECIDE_STAY,
            "%s is not surely %.2f or more, and the shapes vary: %s. A lower bound of the heat "
            "of %.2f would change this.",
            heat, policy->heat.high, shape, policy->heat.high);
    if (!hot)
        return result(
            DECIDE_NOTE,
            "%s is not surely %.2f or more; the shapes are %s: %s. A lower bound of the heat "
            "of %.2f would change this.",
            heat, policy->heat.high, stability_level_name(s->level), shape, policy->heat.high);
    if (varying)
        return result(DECIDE_BATCH_FIRST,
                      "%s is high but the shapes vary: %s; moving: %s. %s would change this.", heat,
                      shape, moving,
                      steadier_words(s, &policy->stability, moving, steadier, sizeof steadier));
    return result(DECIDE_SPIKE,
                  "%s is high and the shapes are %s: %s. Replaying them through a kernel would "
                  "change this.",
                  heat, stability_level_name(s->level), shape);
}

/* What the replay in order must have shown: the first that is missing, or NULL. */
static const char *missing_in_order(const struct agreement *o, const struct policy_evidence *policy,
                                    char *text, size_t bytes)
{
    if (isnan(o->gain))
        snprintf(text, bytes, "a replay of the trace in its order (replay --order=recorded)");
    else if (!(o->covered >= policy->replayed))
        snprintf(text, bytes,
                 "a replay in order that stands for %.0f %% of the recorded time (this one for "
                 "%.0f %%)",
                 100 * policy->replayed, 100 * o->covered);
    else if (!(o->gain >= o->promised_lo))
        snprintf(text, bytes,
                 "agreement: the trace in order gained %.2f %% where its shapes promised at least "
                 "%.2f %% over the recorded calls",
                 100 * o->gain, 100 * o->promised_lo);
    else if (!(o->lo <= o->promised_hi))
        snprintf(text, bytes,
                 "agreement: the trace in order gained at least %.2f %% where its shapes promised "
                 "%.2f %% at most over the recorded calls; distrust both",
                 100 * o->lo, 100 * o->promised_hi);
    else
        return NULL;
    return text;
}

/* Conditions of adopt beyond the gain: the first that is missing, or NULL. */
static const char *missing_for_adopt(const struct decide_input *in, const struct policy *policy,
                                     char *text, size_t bytes)
{
    const struct decide_replay *r = &in->replay;
    if (!(r->gain_lo >= policy->gain.adopt))
        snprintf(text, bytes, "a gain of at least %.1f %%", 100 * policy->gain.adopt);
    else if (!(r->worst_ratio >= policy->gain.worst_ratio))
        snprintf(text, bytes,
                 "a kernel that loses nowhere (worst ratio %.2f, %" PRIu64
                 " shapes slower); keep those on the library",
                 r->worst_ratio, r->losing);
    else if (policy->gain.deterministic && !r->deterministic)
        snprintf(text, bytes, "bitwise equal repeat runs");
    else
        return missing_in_order(&in->in_order, &policy->evidence, text, bytes);
    return text;
}

static struct decide_result decide_gain(const struct decide_input *in, const char *heat,
                                        const struct policy *policy)
{
    char missing[200];
    const struct decide_replay *r = &in->replay;
    const char *lack = missing_for_adopt(in, policy, missing, sizeof missing);
    if (!lack)
        return result(DECIDE_ADOPT,
                      "%s; replay gains %.2f to %.2f %% of the whole on %" PRIu64
                      " shapes and the trace in order agrees (%.2f %%, for %.0f %% of its time). A "
                      "load whose shapes the table misses would change this.",
                      heat, 100 * r->gain_lo, 100 * r->gain_hi, r->winning, 100 * in->in_order.gain,
                      100 * in->in_order.covered);
    return result(DECIDE_PILOT,
                  "%s; isolated replay gains %.2f to %.2f %% of the whole on %" PRIu64
                  " of %" PRIu64 " verified shapes. Missing for adopt: %s.",
                  heat, 100 * r->gain_lo, 100 * r->gain_hi, r->winning, r->passed, lack);
}

static struct decide_result decide_lost(const struct decide_replay *r, const char *heat,
                                        const struct policy *policy)
{
    double own = fmax(r->library_gain, r->gain_recorded_lo);
    if (own >= policy->gain.pilot)
        return result(DECIDE_RETUNE,
                      "%s; the best library call gains %.2f %% over the recorded one, a kernel "
                      "at least %.2f %% over the recorded but only %.2f %% over the best. A kernel "
                      "that beats the best call by %.1f %% of the whole would change this.",
                      heat, 100 * r->library_gain, 100 * fmax(0, r->gain_recorded_lo),
                      100 * fmax(0, r->gain_lo), 100 * policy->gain.pilot);
    if (r->unclear_gain >= policy->gain.pilot)
        return result(DECIDE_SPIKE,
                      "%s; the replay was too noisy to tell: %" PRIu64
                      " shapes are UNCLEAR and might gain up to %.2f %% of the whole. Replaying "
                      "longer, on a quiet machine, would change this.",
                      heat, r->unclear, 100 * r->unclear_gain);
    if (r->passed == 0)
        return result(DECIDE_KEEP_BASELINE,
                      "%s; replay measured %.0f %% of its time and no kernel passed verification. "
                      "A verified kernel would change this.",
                      heat, 100 * r->replayed_share);
    return result(DECIDE_KEEP_BASELINE,
                  "%s; %" PRIu64 " of %" PRIu64 " verified shapes win, worth at least %.2f %% of "
                  "the whole (up to %.2f %%). A gain of at least %.1f %% would change this.",
                  heat, r->winning, r->passed, 100 * fmax(0, r->gain_lo), 100 * fmax(0, r->gain_hi),
                  100 * policy->gain.pilot);
}

/* A spike that has been replayed. */
static struct decide_result refine(const struct decide_input *in, struct decide_result spike,
                                   const struct policy *policy)
{
    const struct decide_replay *r = &in->replay;
    char heat[96];
    heat_words(in->heat, heat, sizeof heat);
    if (!r->present)
        return spike;
    if (r->capped)
        return result(DECIDE_SPIKE,
                      "%s is high and the shapes are %s. The replay is not used: its baseline ran "
                      "with capped instructions. Replaying without the cap would change this.",
                      heat, stability_level_name(in->stability->level));
    if (!(r->replayed_share > 0))
        return result(DECIDE_SPIKE,
                      "%s is high and the shapes are %s. The replay is not used: it has no "
                      "baseline for these shapes. Measuring one would change this.",
                      heat, stability_level_name(in->stability->level));
    if (r->potential < policy->headroom.stop)
        return result(DECIDE_KEEP_BASELINE,
                      "%s, but the library leaves too little: over all operations even kernels at "
                      "the measured ceiling would win %.2f %% (headroom here %.2f). A potential of "
                      "at least %.0f %% would change this.",
                      heat, 100 * r->potential, r->headroom, 100 * policy->headroom.stop);
    if (r->gain_lo >= policy->gain.pilot)
        return decide_gain(in, heat, policy);
    if (!(r->replayed_share >= policy->evidence.replayed))
        return result(DECIDE_SPIKE,
                      "%s is high and the shapes are %s. Replay measured only %.0f %% of its time. "
                      "Replaying at least %.0f %% would change this.",
                      heat, stability_level_name(in->stability->level), 100 * r->replayed_share,
                      100 * policy->evidence.replayed);
    return decide_lost(r, heat, policy);
}

/* The policy's reason stands inside of a line elsewhere; here it is a sentence. */
static struct decide_result withhold(const char *reason)
{
    struct decide_result r = result(DECIDE_WITHHELD, "%s.", reason);
    r.reason[0] = (char)toupper((unsigned char)r.reason[0]);
    return r;
}

struct decide_result decide(const struct decide_input *in, const struct policy *policy)
{
    char text[240];
    if (decide_withheld(&in->evidence, &policy->evidence, text, sizeof text))
        return withhold(text);
    if (in->heat->is_of_launches)
        return result(DECIDE_WITHHELD,
                      "Its calls launch work on a GPU, and the time of that work is not known from "
                      "at least 5 windows; record with --gpu-time=windows, longer, and with a "
                      "larger --gpu-budget where a note says that it was too small.");
    if (in->heat->level == HEAT_UNKNOWN)
        return result(DECIDE_WITHHELD,
                      "The trace has no wall time to compare with; record with events.");
    if (in->stability->level == STABILITY_UNKNOWN)
        return result(DECIDE_WITHHELD,
                      "Active in %zu window%s only, so nothing can be said about its shapes over "
                      "time; record longer.",
                      in->stability->windows, in->stability->windows == 1 ? "" : "s");
    struct decide_result r = decide_matrix(in, policy);
    return r.verdict == DECIDE_SPIKE ? refine(in, r, policy) : r;
}
