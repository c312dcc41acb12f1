/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/heat.h"

#include <math.h>
#include <stdlib.h>

#include "analysis/prng.h"
#include "analysis/quantile.h"

enum { BOOTSTRAP_ROUNDS = 1000, BOOTSTRAP_SEED = 0x4ea7 };

const char *heat_level_name(enum heat_level level)
{
    static const char *const names[] = { NULL, "low", "high" };
    return names[level];
}

const char *heat_method_name(enum heat_method method)
{
    return method == HEAT_CAUSAL ? "causal" : "wall_share";
}

void heat_bootstrap(const double *x, const double *y, size_t windows, double *lo, double *hi)
{
    struct prng prng = { BOOTSTRAP_SEED };
    double draws[BOOTSTRAP_ROUNDS];
    size_t block = (size_t)ceil(cbrt((double)windows)), count = 0;
    for (size_t round = 0; round < BOOTSTRAP_ROUNDS && windows > 1; round++) {
        double sum_x = 0, sum_y = 0;
        for (size_t drawn = 0; drawn < windows; drawn += block) {
            size_t start = prng_below(&prng, windows);
            for (size_t i = 0; i < block && drawn + i < windows; i++) {
                sum_x += x[(start + i) % windows];
                sum_y += y[(start + i) % windows];
            }
        }
        if (sum_y > 0)
            draws[count++] = sum_x / sum_y;
    }
    *lo = quantile_of(draws, count, 0.025);
    *hi = quantile_of(draws, count, 0.975);
}

/* From the first call of a window to the first of the next. */
static double window_wall_ns(const struct summary *s, size_t w)
{
    const struct summary_window *now = &s->windows[w];
    uint64_t end = w + 1 < s->nwindows ? s->windows[w + 1].begin_unix_ns : now->end_unix_ns;
    return end > now->begin_unix_ns ? (double)(end - now->begin_unix_ns) : 0;
}

static void window_times(const struct summary *s, const bool *member, double *x, double *y)
{
    for (size_t w = 0; w < s->nwindows; w++) {
        x[w] = 0;
        y[w] = window_wall_ns(s, w);
        for (size_t i = 0; i < s->windows[w].ncells; i++) {
            const struct summary_cell *c = &s->windows[w].cells[i];
            x[w] += member[c->signature] ? (double)c->time_ns : 0;
        }
    }
}

static double ratio_of_sums(const double *x, const double *y, size_t n)
{
    double sum_x = 0, sum_y = 0;
    for (size_t i = 0; i < n; i++) {
        sum_x += x[i];
        sum_y += y[i];
    }
    return sum_x / sum_y;
}

/* Windows know sums of durations over all processes, not unions: their spread is used, scaled so
 * that their mean is the measured share. */
static void interval(struct heat *h, const double *x, const double *y, size_t windows)
{
    heat_bootstrap(x, y, windows, &h->lo, &h->hi);
    double scale = h->value / ratio_of_sums(x, y, windows);
    if (!isfinite(scale) || isnan(h->lo)) {
        h->lo = h->hi = NAN;
        return;
    }
    h->lo = fmin(fmin(h->lo * scale, h->value), 1);
    h->hi = fmin(fmax(h->hi * scale, h->value), 1);
}

static double share(double part, uint64_t whole)
{
    return whole ? fmin(part / (double)whole, 1) : NAN;
}

static void judge(struct heat *h, const struct policy *policy)
{
    h->ceiling = h->value < 1 ? 1 / (1 - h->value) : NAN;
    h->level = isnan(h->lo) ? HEAT_UNKNOWN : h->lo >= policy->heat.high ? HEAT_HIGH : HEAT_LOW;
}

void heat_refine(struct heat *h, const struct causal_effect *effect, const struct policy *policy)
{
    if (effect->source == CAUSAL_NONE || isnan(effect->lo))
        return;
    h->method = HEAT_CAUSAL;
    h->value = effect->value;
    h->lo = effect->lo;
    h->hi = effect->hi;
    if (effect->source == CAUSAL_STREAMS) {
        h->is_of_gpu = true;
        h->busy_share = effect->busy_share;
        h->wall_share = effect->wall_share;
    }
    judge(h, policy);
}

void heat_of_launches(struct heat *h)
{
    h->is_of_launches = true;
    h->value = h->lo = h->hi = h->ceiling = NAN;
    h->level = HEAT_UNKNOWN;
}

enum status heat_measure(struct heat *out, const struct summary *s, const uint32_t *members,
                         size_t count, double active_ns, const struct policy *policy)
{
    bool *member = calloc(s->nsignatures + 1, sizeof *member);
    double *x = calloc(s->nwindows + 1, sizeof *x), *y = calloc(s->nwindows + 1, sizeof *y);
    if (!member || !x || !y) {
        free(member);
        free(x);
        free(y);
        return ST_NOMEM;
    }
    for (size_t i = 0; i < count; i++)
        member[members[i]] = true;
    window_times(s, member, x, y);
    *out = (struct heat){ .busy_share = share(active_ns, s->busy_ns),
                          .wall_share = share(active_ns, s->wall_ns) };
    out->value = out->wall_share;
    interval(out, x, y, s->nwindows);
    judge(out, policy);
    free(member);
    free(x);
    free(y);
    return ST_OK;
}
