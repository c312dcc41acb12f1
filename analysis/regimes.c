/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/regimes.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/escape.h"
#include "analysis/json.h"

/* Of the time of the operation, for a regime to count. */
static const double phase_share_least = 0.05, cluster_share_least = 0.10;
/* Two clusters: share of the variance of the logarithm that lies between them (0.75 where sizes are
 * spread evenly), and how far apart their middles are. */
static const double between_least = 0.85, octaves_least = 2;

/* What every step of one measurement works on. */
struct group {
    const struct summary *summary;
    const uint32_t *members;
    size_t count;
    uint32_t *chosen;  /* scratch, one per member */
    double *member_ns; /* mix_member_ns */
    double time_ns;
    const struct policy *policy;
};

static const struct summary_signature *row_of(const struct group *g, size_t i)
{
    return &g->summary->signatures[g->members[i]];
}

/* Measure the regime: the members of which `is_of` is true. */
static enum status add(struct regimes *out, const struct group *g, struct regime regime,
                       const bool *is_of)
{
    size_t count = 0;
    for (size_t i = 0; i < g->count; i++) {
        if (!is_of[i])
            continue;
        g->chosen[count++] = g->members[i];
        regime.calls += row_of(g, i)->calls;
        regime.time_ns += g->member_ns[i];
    }
    regime.time_share = regime.time_ns / g->time_ns;
    struct regime *r = &out->regime[out->count];
    *r = regime;
    enum status st = stability_measure(&r->stability, g->summary, g->chosen, count, g->policy);
    out->count += st == ST_OK;
    return st;
}

static int by_time(const void *left, const void *right)
{
    const struct regime *a = left, *b = right;
    return (a->time_ns < b->time_ns) - (a->time_ns > b->time_ns);
}

/* Phases. */

/* The phase that holds most of the calls of each member, and at least half; UINT32_MAX: none. */
static void find_phases(const struct group *g, uint32_t *phase_of)
{
    const struct summary_phases *p = &g->summary->phases;
    size_t cell = 0;
    for (size_t i = 0; i < g->count; i++) {
        uint64_t most = 0; /* calls: what a graph launches has no time on the host */
        phase_of[i] = UINT32_MAX;
        while (cell < p->ncells && p->cells[cell].signature < g->members[i])
            cell++;
        for (; cell < p->ncells && p->cells[cell].signature == g->members[i]; cell++) {
            if (p->cells[cell].calls <= most)
                continue;
            most = p->cells[cell].calls;
            phase_of[i] = p->cells[cell].phase;
        }
        if (2 * (double)most < (double)row_of(g, i)->calls)
            phase_of[i] = UINT32_MAX;
    }
}

struct phase_time {
    uint32_t phase;
    double time_ns;
};

static int by_phase_time(const void *left, const void *right)
{
    const struct phase_time *a = left, *b = right;
    if (a->time_ns != b->time_ns)
        return a->time_ns < b->time_ns ? 1 : -1;
    return (a->phase > b->phase) - (a->phase < b->phase);
}

static enum status add_phases(struct regimes *out, const struct group *g, const uint32_t *phase_of,
                              struct phase_time *times, bool *is_of)
{
    const struct summary *s = g->summary;
    size_t count = s->phases.nphases, used = 0;
    for (size_t p = 0; p < count; p++)
        times[p] = (struct phase_time){ (uint32_t)p, 0 };
    for (size_t i = 0; i < g->count; i++)
        if (phase_of[i] != UINT32_MAX)
            times[phase_of[i]].time_ns += g->member_ns[i];
    qsort(times, count, sizeof *times, by_phase_time);
    while (used < count && used < REGIMES_MAX &&
           times[used].time_ns >= phase_share_least * g->time_ns)
        used++;
    enum status st = ST_OK;
    for (size_t k = 0; k < used && used > 1 && st == ST_OK; k++) {
        for (size_t i = 0; i < g->count; i++)
            is_of[i] = phase_of[i] == times[k].phase;
        const struct regime regime = { .phase = s->strings[s->phases.phases[times[k].phase].name] };
        st = add(out, g, regime, is_of);
    }
    return st;
}

static enum status by_phase(struct regimes *out, const struct group *g, bool *is_of)
{
    size_t phases = g->summary->phases.nphases;
    if (phases < 2)
        return ST_OK;
    uint32_t *phase_of = calloc(g->count + 1, sizeof *phase_of);
    struct phase_time *times = calloc(phases, sizeof *times);
    enum status st = phase_of && times ? ST_OK : ST_NOMEM;
    if (st == ST_OK) {
        find_phases(g, phase_of);
        st = add_phases(out, g, phase_of, times, is_of);
    }
    free(phase_of);
    free(times);
    return st;
}

/* Clusters. */

struct size {
    int64_t value;
    double octave, time_ns; /* octave: log2 of the value */
};

static int by_value(const void *left, const void *right)
{
    int64_t a = ((const struct size *)left)->value, b = ((const struct size *)right)->value;
    return (a > b) - (a < b);
}

struct moments {
    double weight, sum, squares;
};

static void add_moments(struct moments *m, const struct size *s)
{
    m->weight += s->time_ns;
    m->sum += s->time_ns * s->octave;
    m->squares += s->time_ns * s->octave * s->octave;
}

/* Share of the variance between the two parts; 0 where they are no two regimes. */
static double separation(const struct moments *all, const struct moments *low)
{
    double high_weight = all->weight - low->weight;
    double least = cluster_share_least * all->weight;
    if (!(low->weight >= least && high_weight >= least))
        return 0;
    double mean = all->sum / all->weight, variance = all->squares / all->weight - mean * mean;
    double apart = (all->sum - low->sum) / high_weight - low->sum / low->weight;
    double between = low->weight / all->weight * (high_weight / all->weight) * apart * apart;
    return apart >= octaves_least && variance > 0 ? between / variance : 0;
}

/* The best split of one dimension: values up to *most_low, and above. */
static double split(const struct group *g, enum shape_dimension d, struct size *sizes,
                    int64_t *most_low)
{
    struct moments all = { 0 }, low = { 0 };
    double best = 0;
    for (size_t i = 0; i < g->count; i++) {
        int64_t value = shape_dimension(&row_of(g, i)->signature, d);
        sizes[i] = (struct size){ value, log2(value > 1 ? (double)value : 1), g->member_ns[i] };
    }
    qsort(sizes, g->count, sizeof *sizes, by_value);
    for (size_t i = 0; i < g->count; i++)
        add_moments(&all, &sizes[i]);
    for (size_t i = 0; i + 1 < g->count; i++) {
        add_moments(&low, &sizes[i]);
        double now = sizes[i].value < sizes[i + 1].value ? separation(&all, &low) : 0;
        if (now > best) {
            best = now;
            *most_low = sizes[i].value;
        }
    }
    return best;
}

static enum status add_clusters(struct regimes *out, const struct group *g, enum shape_dimension d,
                                int64_t most_low, bool *is_of)
{
    enum status st = ST_OK;
    for (int high = 0; high < 2 && st == ST_OK; high++) {
        struct regime regime = { .dimension = d, .least = INT64_MAX, .most = INT64_MIN };
        for (size_t i = 0; i < g->count; i++) {
            int64_t value = shape_dimension(&row_of(g, i)->signature, d);
            is_of[i] = (value > most_low) == high;
            if (!is_of[i])
                continue;
            regime.least = value < regime.least ? value : regime.least;
            regime.most = value > regime.most ? value : regime.most;
        }
        st = add(out, g, regime, is_of);
    }
    return st;
}

/* Of the dimensions that move, the one that tells two clusters apart best. */
static enum status by_cluster(struct regimes *out, const struct group *g,
                              const struct stability *whole, bool *is_of)
{
    struct size *sizes = calloc(g->count + 1, sizeof *sizes);
    enum shape_dimension found = SHAPE_M;
    int64_t most_low = 0, low = 0;
    double best = 0;
    for (enum shape_dimension d = 0; sizes && d < SHAPE_DIMENSIONS; d++) {
        double now = whole->moving[d] ? split(g, d, sizes, &low) : 0;
        if (now <= best)
            continue;
        best = now;
        found = d;
        most_low = low;
    }
    bool there = sizes != NULL;
    free(sizes);
    if (!there)
        return ST_NOMEM;
    return best >= between_least ? add_clusters(out, g, found, most_low, is_of) : ST_OK;
}

enum status regimes_measure(struct regimes *out, const struct summary *s, const uint32_t *members,
                            size_t count, const struct stability *whole,
                            const struct policy *policy)
{
    struct group g = { .summary = s, .members = members, .count = count, .policy = policy };
    *out = (struct regimes){ 0 };
    g.chosen = calloc(count + 1, sizeof *g.chosen);
    bool *is_of = calloc(count + 1, sizeof *is_of);
    g.member_ns = calloc(count + 1, sizeof *g.member_ns);
    enum status st = g.chosen && is_of && g.member_ns ? ST_OK : ST_NOMEM;
    if (st == ST_OK)
        g.time_ns = mix_member_ns(s, members, count, g.member_ns);
    if (st == ST_OK && g.time_ns > 0)
        st = by_phase(out, &g, is_of);
    if (st == ST_OK && g.time_ns > 0 && out->count == 0)
        st = by_cluster(out, &g, whole, is_of);
    free(g.chosen);
    free(is_of);
    free(g.member_ns);
    qsort(out->regime, out->count, sizeof *out->regime, by_time);
    return st;
}

void regimes_name(const struct regime *r, char *text, size_t bytes)
{
    char *escaped = r->phase ? escape_copy(r->phase) : NULL;
    if (r->phase)
        snprintf(text, bytes, "%s", escaped ? escaped : "?");
    else
        snprintf(text, bytes, "%s %lld to %lld", shape_dimension_name(r->dimension),
                 (long long)r->least, (long long)r->most);
    free(escaped);
}

static const char *level_of(const struct regime *r)
{
    const char *name = stability_level_name(r->stability.level);
    return name ? name : "unknown";
}

void regimes_add_reason(const struct regimes *r, char *text, size_t bytes)
{
    bool differ = false;
    for (size_t i = 1; i < r->count; i++)
        differ |= r->regime[i].stability.level != r->regime[0].stability.level;
    size_t used = strlen(text);
    for (size_t i = 0; differ && i < r->count; i++) {
        char name[48], part[128];
        regimes_name(&r->regime[i], name, sizeof name);
        int more =
            snprintf(part, sizeof part, "%s%s %s (k90 %llu)%s", i ? ", " : " By regime: ", name,
                     level_of(&r->regime[i]), (unsigned long long)r->regime[i].stability.raw.k90,
                     i + 1 == r->count ? "." : "");
        if (more < 0 || used + (size_t)more >= bytes)
            return;
        memcpy(text + used, part, (size_t)more + 1);
        used += (size_t)more;
    }
}

bool regimes_words(const struct regimes *r, char *text, size_t bytes)
{
    size_t used = 0;
    for (size_t i = 0; i < r->count && used < bytes; i++) {
        const struct regime *one = &r->regime[i];
        char name[48];
        regimes_name(one, name, sizeof name);
        int more = snprintf(text + used, bytes - used, "%s%s: %.1f %% of the time, %s, k90 %llu",
                            i ? "; " : "", name, 100 * one->time_share, level_of(one),
                            (unsigned long long)one->stability.raw.k90);
        used += more > 0 ? (size_t)more : 0;
    }
    return r->count > 0;
}

void regimes_json(yajl_gen g, const struct regimes *r)
{
    json_open_array(g, "regimes");
    for (size_t i = 0; i < r->count; i++) {
        const struct regime *one = &r->regime[i];
        const struct stability_grain *raw = &one->stability.raw;
        char name[96];
        regimes_name(one, name, sizeof name);
        yajl_gen_map_open(g);
        json_key_text(g, "name", name);
        json_key_text(g, "by", one->phase ? "phase" : "shape");
        json_key_whole(g, "calls", one->calls);
        json_key_real(g, "time_ns", one->time_ns);
        json_key_real(g, "time_share", one->time_share);
        json_key_text(g, "level", stability_level_name(one->stability.level));
        json_key_real(g, "effective_shapes", raw->effective_shapes);
        json_key_whole(g, "k90", raw->k90);
        json_key_real(g, "cov05", raw->cov05);
        json_key_real(g, "unseen", raw->unseen);
        json_key_real(g, "drift", raw->drift.adjacent);
        yajl_gen_map_close(g);
    }
    yajl_gen_array_close(g);
}
