/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/diff_drift.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/heat.h"
#include "analysis/quantile.h"

enum { ROUNDS_MAX = 999, ROUNDS_MIN = 99, BLOCKS_MIN = 4, STEPS_MAX = 100000000 };

/* A stretch of neighbouring windows of one recording: they change sides together, because a phase
 * of the load spans several. */
struct block {
    const struct mix *side;
    size_t first, count;
    double scale; /* makes both recordings weigh the same */
};

struct test {
    const struct mix *before, *after;
    size_t nkeys, nblocks, ncells;
    double *mean_ns, *one, *other; /* per key */
    struct block *blocks;
};

/* Weights are calls times the shape's mean duration in both recordings: a change of the mix is
 * drift, a faster machine is not. */
static void prepare_means(struct test *t)
{
    for (size_t k = 0; k < t->nkeys; k++) {
        double calls = (double)t->before->key_calls[k] + (double)t->after->key_calls[k];
        double time_ns = t->before->key_time_ns[k] + t->after->key_time_ns[k];
        /* Calls without a time (launched by a graph) still are a mix. */
        t->mean_ns[k] = calls > 0 ? fmax(time_ns / calls, 1e-3) : 0;
    }
}

static void add_window(const struct test *t, const struct block *b, size_t w, double *weights)
{
    for (size_t i = b->side->first[w]; i < b->side->first[w + 1]; i++) {
        const struct mix_cell *c = &b->side->cells[i];
        weights[c->key] += b->scale * (double)c->calls * t->mean_ns[c->key];
    }
}

static double weight_of(const struct test *t, const struct mix *m)
{
    double sum = 0;
    for (size_t i = 0; i < m->first[m->nwindows]; i++)
        sum += (double)m->cells[i].calls * t->mean_ns[m->cells[i].key];
    return sum;
}

static size_t block_windows(const struct mix *m)
{
    return (size_t)ceil(cbrt((double)m->nwindows));
}

static size_t block_count(const struct mix *m)
{
    return m->nwindows ? (m->nwindows + block_windows(m) - 1) / block_windows(m) : 0;
}

static void add_blocks(struct test *t, const struct mix *m)
{
    size_t windows = block_windows(m);
    double weight = weight_of(t, m);
    for (size_t first = 0; first < m->nwindows; first += windows) {
        size_t left = m->nwindows - first;
        t->blocks[t->nblocks++] = (struct block){ .side = m,
                                                  .first = first,
                                                  .count = left < windows ? left : windows,
                                                  .scale = weight > 0 ? 1 / weight : 0 };
    }
    t->ncells += m->first[m->nwindows];
}

/* The first windows, as many as `before` has, against the rest. */
static double split(struct test *t)
{
    size_t taken = 0;
    memset(t->one, 0, t->nkeys * sizeof *t->one);
    memset(t->other, 0, t->nkeys * sizeof *t->other);
    for (size_t i = 0; i < t->nblocks; i++)
        for (size_t w = 0; w < t->blocks[i].count; w++)
            add_window(t, &t->blocks[i], t->blocks[i].first + w,
                       taken++ < t->before->nwindows ? t->one : t->other);
    return mix_divergence(t->one, t->other, t->nkeys);
}

static void shuffle(struct test *t, struct prng *prng)
{
    for (size_t i = t->nblocks; i > 1; i--) {
        size_t j = prng_below(prng, i);
        struct block swapped = t->blocks[i - 1];
        t->blocks[i - 1] = t->blocks[j];
        t->blocks[j] = swapped;
    }
}

/* With few blocks nearly every draw is the recorded split: no null then. */
static void draw_null(struct test *t, struct prng *prng, struct diff_drift *out)
{
    double draws[ROUNDS_MAX];
    size_t cost = t->ncells + 2 * t->nkeys + 1, rounds = STEPS_MAX / cost, as_far = 0;
    if (block_count(t->before) < BLOCKS_MIN || block_count(t->after) < BLOCKS_MIN)
        return;
    if (rounds > ROUNDS_MAX)
        rounds = ROUNDS_MAX;
    if (rounds < ROUNDS_MIN)
        return;
    for (size_t i = 0; i < rounds; i++) {
        shuffle(t, prng);
        draws[i] = split(t);
        as_far += draws[i] >= out->divergence * (1 - 1e-9);
    }
    out->null95 = quantile_of(draws, rounds, 0.95);
    out->p = (double)(1 + as_far) / (double)(1 + rounds);
}

struct diff_drift diff_drift(const struct mix *before, const struct mix *after, struct prng prng)
{
    struct diff_drift out = { NAN, NAN, NAN };
    struct test t = { .before = before, .after = after, .nkeys = before->nkeys };
    t.mean_ns = calloc(t.nkeys + 1, sizeof *t.mean_ns);
    t.one = calloc(t.nkeys + 1, sizeof *t.one);
    t.other = calloc(t.nkeys + 1, sizeof *t.other);
    t.blocks = calloc(block_count(before) + block_count(after) + 1, sizeof *t.blocks);
    if (t.mean_ns && t.one && t.other && t.blocks) {
        prepare_means(&t);
        add_blocks(&t, before);
        add_blocks(&t, after);
        out.divergence = split(&t);
        if (!isnan(out.divergence))
            draw_null(&t, &prng, &out);
    }
    free(t.mean_ns);
    free(t.one);
    free(t.other);
    free(t.blocks);
    return out;
}

/* Per window of `m`: the time of the shapes that both recordings have, and how long those calls
 * would have taken before. Returns the ratio of the sums. */
static double paces(const struct mix *m, const struct mix *before, const struct mix *after,
                    double *took_ns, double *before_ns)
{
    double took = 0, would = 0;
    for (size_t w = 0; w < m->nwindows; w++) {
        took_ns[w] = before_ns[w] = 0;
        for (size_t i = m->first[w]; i < m->first[w + 1]; i++) {
            const struct mix_cell *c = &m->cells[i];
            uint64_t calls = before->key_calls[c->key];
            if (calls == 0 || after->key_calls[c->key] == 0)
                continue;
            took_ns[w] += c->time_ns;
            before_ns[w] += (double)c->calls * before->key_time_ns[c->key] / (double)calls;
        }
        took += took_ns[w];
        would += before_ns[w];
    }
    return would > 0 ? took / would : NAN;
}

struct diff_pace diff_pace(const struct mix *before, const struct mix *after)
{
    struct diff_pace out = { NAN, NAN, NAN };
    size_t most = before->nwindows > after->nwindows ? before->nwindows : after->nwindows;
    double *x = calloc(most + 1, sizeof *x), *y = calloc(most + 1, sizeof *y);
    if (x && y) {
        double before_lo, before_hi, lo, hi;
        paces(before, before, after, x, y);
        heat_bootstrap(x, y, before->nwindows, &before_lo, &before_hi);
        out.ratio = paces(after, before, after, x, y);
        heat_bootstrap(x, y, after->nwindows, &lo, &hi);
        out.lo = before_hi > 0 ? lo / before_hi : NAN;
        out.hi = before_lo > 0 ? hi / before_lo : NAN;
    }
    free(x);
    free(y);
    return out;
}
