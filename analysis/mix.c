/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/mix.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/quantile.h"

enum { NULL_ROUNDS_MAX = 200, NULL_ROUNDS_MIN = 20, NULL_DRAWS = 500000, NULL_CELLS_MAX = 100000 };

void mix_free(struct mix *m)
{
    free(m->key_calls);
    free(m->key_time_ns);
    free(m->first);
    free(m->cells);
    *m = (struct mix){ 0 };
}

static double mean_gpu_ns(const struct summary *s, const uint32_t *members, size_t count)
{
    double calls = 0, ns = 0;
    for (size_t i = 0; i < count; i++) {
        calls += (double)s->signatures[members[i]].gpu_calls;
        ns += (double)s->signatures[members[i]].gpu_measured_ns;
    }
    return calls > 0 ? ns / calls : NAN;
}

void mix_call_ns(const struct summary *s, const uint32_t *members, size_t count, double *call_ns)
{
    double gpu_ns = mean_gpu_ns(s, members, count);
    for (size_t i = 0; i < count; i++) {
        const struct summary_signature *row = &s->signatures[members[i]];
        call_ns[i] =
            row->gpu_calls ? (double)row->gpu_measured_ns / (double)row->gpu_calls : gpu_ns;
    }
}

double mix_time_ns(double call_ns, uint64_t calls, uint64_t time_ns)
{
    return isnan(call_ns) ? (double)time_ns : call_ns * (double)calls;
}

double mix_member_ns(const struct summary *s, const uint32_t *members, size_t count,
                     double *member_ns)
{
    double sum = 0;
    mix_call_ns(s, members, count, member_ns);
    for (size_t i = 0; i < count; i++) {
        const struct summary_signature *row = &s->signatures[members[i]];
        sum += member_ns[i] = mix_time_ns(member_ns[i], row->calls, row->time_ns);
    }
    return sum;
}

/* What a signature is in the group. */
struct member {
    uint32_t key; /* UINT32_MAX: none of it */
    double call_ns;
};

/* One per signature of the summary. NULL without memory. */
static struct member *find_members(const struct summary *s, const uint32_t *members, size_t count,
                                   const uint32_t *key)
{
    struct member *all = malloc((s->nsignatures + 1) * sizeof *all);
    double *call_ns = malloc((count + 1) * sizeof *call_ns);
    bool fine = all && call_ns;
    for (size_t i = 0; i < s->nsignatures && fine; i++)
        all[i] = (struct member){ UINT32_MAX, NAN };
    if (fine)
        mix_call_ns(s, members, count, call_ns);
    for (size_t i = 0; i < count && fine; i++)
        all[members[i]] = (struct member){ key[i], call_ns[i] };
    free(call_ns);
    if (fine)
        return all;
    free(all);
    return NULL;
}

static int by_key(const void *a, const void *b)
{
    uint32_t x = ((const struct mix_cell *)a)->key, y = ((const struct mix_cell *)b)->key;
    return (x > y) - (x < y);
}

/* One window summed by key; `cells` has room for every key. Returns the cells that are in use,
 * ordered by key. `slot` (per key) is scratch and holds UINT32_MAX before and after. */
static size_t collect(const struct summary_window *w, const struct member *members, uint32_t *slot,
                      struct mix_cell *cells)
{
    size_t used = 0;
    for (size_t i = 0; i < w->ncells; i++) {
        const struct summary_cell *c = &w->cells[i];
        uint32_t key = members[c->signature].key;
        if (key == UINT32_MAX || c->calls == 0)
            continue;
        if (slot[key] == UINT32_MAX) {
            slot[key] = (uint32_t)used;
            cells[used++] = (struct mix_cell){ .key = key };
        }
        cells[slot[key]].calls += c->calls;
        cells[slot[key]].time_ns +=
            mix_time_ns(members[c->signature].call_ns, c->calls, c->time_ns);
    }
    for (size_t i = 0; i < used; i++)
        slot[cells[i].key] = UINT32_MAX;
    qsort(cells, used, sizeof *cells, by_key);
    return used;
}

static void fill_totals(struct mix *m, const struct summary *s, const struct member *members)
{
    for (size_t i = 0; i < s->nsignatures; i++) {
        const struct summary_signature *row = &s->signatures[i];
        uint32_t key = members[i].key;
        if (key == UINT32_MAX)
            continue;
        double time_ns = mix_time_ns(members[i].call_ns, row->calls, row->time_ns);
        m->key_calls[key] += row->calls;
        m->key_time_ns[key] += time_ns;
        m->calls += row->calls;
        m->time_ns += time_ns;
    }
}

/* Room for the cells of all windows: at most one per cell of the summary. */
static size_t cell_bound(const struct summary *s)
{
    size_t cells = 0;
    for (size_t w = 0; w < s->nwindows; w++)
        cells += s->windows[w].ncells;
    return cells;
}

enum status mix_build(struct mix *out, const struct summary *s, const uint32_t *members,
                      size_t count, const uint32_t *key, size_t nkeys)
{
    *out = (struct mix){ .nkeys = nkeys };
    out->key_calls = calloc(nkeys + 1, sizeof *out->key_calls);
    out->key_time_ns = calloc(nkeys + 1, sizeof *out->key_time_ns);
    out->first = calloc(s->nwindows + 1, sizeof *out->first);
    out->cells = calloc(cell_bound(s) + 1, sizeof *out->cells);
    struct member *all = find_members(s, members, count, key);
    uint32_t *slot = malloc((nkeys + 1) * sizeof *slot);
    enum status st = ST_NOMEM;
    if (!out->key_calls || !out->key_time_ns || !out->first || !out->cells || !all || !slot)
        goto end;
    memset(slot, 0xff, (nkeys + 1) * sizeof *slot);
    out->is_of_kernels = count && !isnan(all[members[0]].call_ns);
    fill_totals(out, s, all);
    for (size_t w = 0; w < s->nwindows; w++) {
        size_t at = out->first[out->nwindows];
        size_t used = collect(&s->windows[w], all, slot, out->cells + at);
        if (used == 0)
            continue;
        out->nwindows++;
        out->first[out->nwindows] = at + used;
    }
    st = ST_OK;
end:
    free(all);
    free(slot);
    if (st != ST_OK)
        mix_free(out);
    return st;
}

double mix_effective(const struct mix *m)
{
    double entropy = 0;
    if (!(m->time_ns > 0))
        return NAN;
    for (size_t i = 0; i < m->nkeys; i++) {
        double q = m->key_time_ns[i] / m->time_ns;
        if (q > 0)
            entropy -= q * log(q);
    }
    return exp(entropy);
}

/* Keys in order of time, largest first; equal ones by number, so that runs agree. */
struct ranked {
    double time_ns;
    uint32_t key;
};

static int by_time(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    if (x->time_ns != y->time_ns)
        return x->time_ns < y->time_ns ? 1 : -1;
    return (x->key > y->key) - (x->key < y->key);
}

/* Rank all keys and count how many are needed for `share` of the total. `ranks` has nkeys rows. */
static size_t rank(const double *time_ns, size_t nkeys, double share, struct ranked *ranks)
{
    double total = 0, held = 0;
    for (size_t i = 0; i < nkeys; i++) {
        ranks[i] = (struct ranked){ .time_ns = time_ns[i], .key = (uint32_t)i };
        total += time_ns[i];
    }
    qsort(ranks, nkeys, sizeof *ranks, by_time);
    /* The last bit of a sum must not ask for one more shape. */
    double wanted = share * total * (1 - 1e-12);
    size_t needed = 0;
    while (needed < nkeys && held < wanted)
        held += ranks[needed++].time_ns;
    return needed;
}

uint64_t mix_k90(const struct mix *m)
{
    struct ranked *ranks = calloc(m->nkeys + 1, sizeof *ranks);
    if (!ranks)
        return UINT64_MAX;
    uint64_t needed = rank(m->key_time_ns, m->nkeys, 0.9, ranks);
    free(ranks);
    return needed;
}

/* Share of the time of window w that the marked keys hold; NaN for a window without time. */
static double held_share(const struct mix *m, size_t w, const bool *in_table)
{
    double total = 0, held = 0;
    for (size_t i = m->first[w]; i < m->first[w + 1]; i++) {
        total += m->cells[i].time_ns;
        held += in_table[m->cells[i].key] ? m->cells[i].time_ns : 0;
    }
    return total > 0 ? held / total : NAN;
}

struct mix_coverage mix_coverage(const struct mix *m, double table)
{
    struct mix_coverage result = { NAN, NAN, NAN };
    double *so_far = calloc(m->nkeys + 1, sizeof *so_far);
    struct ranked *ranks = calloc(m->nkeys + 1, sizeof *ranks);
    bool *in_table = calloc(m->nkeys + 1, sizeof *in_table);
    double *shares = calloc(m->nwindows + 1, sizeof *shares);
    size_t count = 0;
    if (!so_far || !ranks || !in_table || !shares)
        goto end;
    for (size_t w = 0; w + 1 < m->nwindows; w++) {
        for (size_t i = m->first[w]; i < m->first[w + 1]; i++)
            so_far[m->cells[i].key] += m->cells[i].time_ns;
        size_t needed = rank(so_far, m->nkeys, table, ranks);
        memset(in_table, 0, m->nkeys * sizeof *in_table);
        for (size_t i = 0; i < needed; i++)
            in_table[ranks[i].key] = true;
        double share = held_share(m, w + 1, in_table);
        if (!isnan(share))
            shares[count++] = share;
    }
    result.p05 = quantile_of(shares, count, 0.05);
    quantile_interval(shares, count, 0.05, &result.lo, &result.hi);
end:
    free(so_far);
    free(ranks);
    free(in_table);
    free(shares);
    return result;
}

double mix_unseen(const struct mix *m)
{
    uint64_t once = 0;
    for (size_t i = 0; i < m->nkeys; i++)
        once += m->key_calls[i] == 1;
    return m->calls ? (double)once / (double)m->calls : NAN;
}

double mix_divergence(const double *a, const double *b, size_t n)
{
    double sum_a = 0, sum_b = 0, result = 0;
    for (size_t i = 0; i < n; i++) {
        sum_a += a[i];
        sum_b += b[i];
    }
    if (!(sum_a > 0) || !(sum_b > 0))
        return NAN;
    for (size_t i = 0; i < n; i++) {
        double p = a[i] / sum_a, q = b[i] / sum_b, middle = (p + q) / 2;
        result += p > 0 ? p / 2 * log2(p / middle) : 0;
        result += q > 0 ? q / 2 * log2(q / middle) : 0;
    }
    return result > 0 ? result : 0;
}

/* Scratch of the drift measures. Weights are calls times the shape's mean duration: a change of the
 * mix is drift, noise of single durations is not. */
struct drift_work {
    const struct mix *m;
    double *mean_ns, *window_calls, *before, *now, *steps;
};

static void load_window(struct drift_work *k, size_t w, double *weights)
{
    memset(weights, 0, k->m->nkeys * sizeof *weights);
    for (size_t i = k->m->first[w]; i < k->m->first[w + 1]; i++) {
        const struct mix_cell *c = &k->m->cells[i];
        weights[c->key] = (double)c->calls * k->mean_ns[c->key];
    }
}

/* A window of the same number of calls, drawn from the mix of the whole trace. */
static void draw_window(struct drift_work *k, size_t w, struct prng *prng, double *weights)
{
    double scale = k->window_calls[w] / (double)k->m->calls;
    for (size_t i = 0; i < k->m->nkeys; i++)
        weights[i] = prng_poisson(prng, scale * (double)k->m->key_calls[i]) * k->mean_ns[i];
}

/* Median divergence of neighbours: of the recorded windows, or of drawn ones with a `prng`. */
static double median_step(struct drift_work *k, struct prng *prng)
{
    size_t count = 0;
    for (size_t w = 0; w < k->m->nwindows; w++) {
        double *now = w % 2 ? k->now : k->before, *before = w % 2 ? k->before : k->now;
        if (prng)
            draw_window(k, w, prng, now);
        else
            load_window(k, w, now);
        double step = w ? mix_divergence(before, now, k->m->nkeys) : NAN;
        if (!isnan(step))
            k->steps[count++] = step;
    }
    return quantile_of(k->steps, count, 0.5);
}

static double null_quantile(struct drift_work *k, struct prng *prng)
{
    double draws[NULL_ROUNDS_MAX];
    size_t cost = k->m->nkeys * k->m->nwindows, count = 0;
    if (cost == 0 || cost > NULL_CELLS_MAX)
        return NAN;
    size_t rounds = NULL_DRAWS / cost;
    rounds = rounds < NULL_ROUNDS_MIN ? NULL_ROUNDS_MIN : rounds;
    for (size_t i = 0; i < rounds && i < NULL_ROUNDS_MAX; i++) {
        double draw = median_step(k, prng);
        if (!isnan(draw))
            draws[count++] = draw;
    }
    return quantile_of(draws, count, 0.95);
}

static void prepare(struct drift_work *k)
{
    for (size_t i = 0; i < k->m->nkeys; i++)
        k->mean_ns[i] = k->m->key_calls[i] ? k->m->key_time_ns[i] / (double)k->m->key_calls[i] : 0;
    for (size_t w = 0; w < k->m->nwindows; w++)
        for (size_t i = k->m->first[w]; i < k->m->first[w + 1]; i++)
            k->window_calls[w] += (double)k->m->cells[i].calls;
}

static struct mix_drift measure_drift(const struct mix *m, struct prng *prng)
{
    struct mix_drift drift = { NAN, NAN, NAN };
    struct drift_work k = { .m = m };
    k.mean_ns = calloc(m->nkeys + 1, sizeof *k.mean_ns);
    k.before = calloc(m->nkeys + 1, sizeof *k.before);
    k.now = calloc(m->nkeys + 1, sizeof *k.now);
    k.window_calls = calloc(m->nwindows + 1, sizeof *k.window_calls);
    k.steps = calloc(m->nwindows + 1, sizeof *k.steps);
    if (m->nwindows >= 2 && k.mean_ns && k.before && k.now && k.window_calls && k.steps) {
        prepare(&k);
        drift.adjacent = median_step(&k, NULL);
        load_window(&k, 0, k.before);
        load_window(&k, m->nwindows - 1, k.now);
        drift.first_last = mix_divergence(k.before, k.now, m->nkeys);
        drift.null95 = prng ? null_quantile(&k, prng) : NAN;
    }
    free(k.mean_ns);
    free(k.before);
    free(k.now);
    free(k.window_calls);
    free(k.steps);
    return drift;
}

struct mix_drift mix_drift(const struct mix *m, struct prng prng)
{
    return measure_drift(m, &prng);
}

struct mix_drift mix_drift_alone(const struct mix *m)
{
    return measure_drift(m, NULL);
}
