/* SPDX-License-Identifier: Apache-2.0 */
#include "replayer/sequence_cut.h"

#include <stdlib.h>
#include <string.h>

enum { REPEATS_MIN = 3, PIECES_MAX = 16 };
static const double least_share = 0.01; /* of the total time: what is worth a stretch */

void sequence_free(struct sequence *s)
{
    if (s == NULL)
        return;
    free(s->steps);
    free(s);
}

/* Longest run of positions that equal the one `period` later. */
static size_t longest_run(const struct sequence_step *steps, size_t count, size_t period,
                          size_t *start)
{
    size_t best = 0, run = 0;
    for (size_t i = 0; i + period < count; i++) {
        run = steps[i].symbol == steps[i + period].symbol ? run + 1 : 0;
        if (run > best) {
            best = run;
            *start = i + 1 - run;
        }
    }
    return best;
}

bool sequence_find_period(const struct sequence_step *steps, size_t count,
                          struct sequence_period *out)
{
    size_t best = 0;
    *out = (struct sequence_period){ 0 };
    for (size_t period = 1; period <= SEQUENCE_STEPS_MAX && period * REPEATS_MIN <= count;
         period++) {
        size_t start = 0, covered = longest_run(steps, count, period, &start) + period;
        if (covered < REPEATS_MIN * period || covered <= best)
            continue;
        /* A longer period wins by more than its own beginning: a layer within a step is none. */
        best = covered;
        *out = (struct sequence_period){ start, period, covered / period };
    }
    return best > 0;
}

/* ---- one stretch ---- */

static void add_up(struct sequence *s)
{
    s->fillers = 0;
    s->call_ns = s->filler_ns = s->least_filler_ns = 0;
    for (size_t i = 0; i < s->count; i++) {
        const struct sequence_step *one = &s->steps[i];
        bool filler = one->item == SEQUENCE_FILLER;
        if (filler && (s->fillers == 0 || one->ns < s->least_filler_ns))
            s->least_filler_ns = one->ns;
        s->fillers += filler;
        *(filler ? &s->filler_ns : &s->call_ns) += one->ns;
    }
}

static double weight(const struct sequence *s)
{
    return (s->call_ns + s->filler_ns) * (double)s->repeats;
}

/* Move what is a mean in `a` by a part of the way to `b`. */
static void approach(struct sequence_step *a, const struct sequence_step *b, double part)
{
    a->ns += part * (b->ns - a->ns);
    a->operand_bytes += part * (b->operand_bytes - a->operand_bytes);
}

/* One period, with the mean times of its repeats. */
static struct sequence *take(const struct sequence_track *t, const struct sequence_period *p)
{
    struct sequence *s = calloc(1, sizeof *s);
    if (s)
        s->steps = calloc(p->period + 1, sizeof *s->steps);
    if (s == NULL || s->steps == NULL) {
        sequence_free(s);
        return NULL;
    }
    s->count = p->period;
    s->repeats = p->repeats;
    s->in_graph = 2 * t->graphs > t->count;
    s->is_kernel_time = t->is_kernel_time;
    strncpy(s->source, t->source, sizeof s->source - 1);
    for (size_t i = 0; i < p->period; i++) {
        s->steps[i] = t->steps[p->start + i];
        for (size_t r = 1; r < p->repeats; r++)
            approach(&s->steps[i], &t->steps[p->start + r * p->period + i], 1 / (double)(r + 1));
    }
    add_up(s);
    return s;
}

/* How far `b` is turned against `a`, whose period it may have entered anywhere; count: it is not
 * the same work. */
static size_t turn_of(const struct sequence *a, const struct sequence *b)
{
    size_t count = a->count;
    if (b->count != count)
        return count;
    for (size_t turn = 0; turn < count; turn++) {
        size_t same = 0;
        while (same < count && a->steps[same].symbol == b->steps[(same + turn) % count].symbol)
            same++;
        if (same == count)
            return turn;
    }
    return count;
}

/* Count `b` to the same work seen before, whose mean times it moves, or keep it. */
static void add(struct sequence_kinds *kinds, struct sequence *b)
{
    for (size_t k = 0; k < kinds->count; k++) {
        struct sequence *a = kinds->row[k];
        size_t turn = turn_of(a, b);
        if (turn == a->count || a->is_kernel_time != b->is_kernel_time)
            continue;
        double part = (double)b->repeats / (double)(a->repeats + b->repeats);
        for (size_t i = 0; i < a->count; i++)
            approach(&a->steps[i], &b->steps[(i + turn) % a->count], part);
        a->repeats += b->repeats;
        add_up(a);
        sequence_free(b);
        return;
    }
    if (kinds->count < SEQUENCE_KINDS_MAX)
        kinds->row[kinds->count++] = b;
    else
        sequence_free(b);
}

/* ---- a track ---- */

struct piece {
    size_t start, count;
};

/* The best stretch of a piece; what is left of it on both sides. */
static struct sequence_period cut_piece(const struct sequence_track *t, struct piece piece,
                                        struct piece left[2])
{
    struct sequence_period p;
    if (!sequence_find_period(t->steps + piece.start, piece.count, &p)) {
        size_t count = piece.count < SEQUENCE_STEPS_MAX ? piece.count : SEQUENCE_STEPS_MAX;
        p = (struct sequence_period){ 0, count, 1 };
    }
    size_t behind = p.start + p.period * p.repeats;
    left[0] = (struct piece){ piece.start, p.start };
    left[1] = (struct piece){ piece.start + behind, piece.count - behind };
    p.start += piece.start;
    return p;
}

static bool is_worth(const struct sequence_kinds *kinds, const struct sequence_track *t,
                     struct piece piece)
{
    double ns = 0;
    for (size_t i = 0; i < piece.count; i++)
        ns += t->steps[piece.start + i].ns;
    return piece.count && ns >= least_share * kinds->total_ns;
}

enum status sequence_cut(struct sequence_kinds *kinds, const struct sequence_track *track)
{
    struct piece stack[PIECES_MAX] = { { 0, track->count } };
    size_t height = 1;
    while (height) {
        struct piece piece = stack[--height], left[2];
        if (!is_worth(kinds, track, piece))
            continue;
        struct sequence_period p = cut_piece(track, piece, left);
        struct sequence *s = take(track, &p);
        if (s == NULL)
            return ST_NOMEM;
        if (weight(s) >= least_share * kinds->total_ns && s->fillers < s->count)
            add(kinds, s);
        else
            sequence_free(s);
        for (int i = 0; i < 2 && height < PIECES_MAX; i++)
            stack[height++] = left[i];
    }
    return ST_OK;
}
