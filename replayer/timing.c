/* SPDX-License-Identifier: Apache-2.0 */
#include "replayer/timing.h"

#include <math.h>
#include <string.h>

static const double least_claim = 0.01; /* below 1 % nothing is called a difference */
static const uint64_t calls_max = 1u << 20;
enum { ROUNDS_BETWEEN_LOOKS = 8 };

/* Grow each arm's burst to the wanted length; this warms it up, too. */
static bool size_bursts(const struct timing_source *source, const struct timing_options *options,
                        struct timing_samples *out)
{
    for (unsigned arm = 0; arm < options->arms; arm++) {
        uint64_t calls = 1;
        double ns = source->burst(source->context, arm, 1);
        while (ns < options->burst_ns && calls < calls_max) {
            double per_call = fmax(ns / (double)calls, 1);
            double wanted = ceil(options->burst_ns * 1.1 / per_call);
            calls = (uint64_t)fmin(fmax(wanted, (double)calls + 1), (double)calls * 16);
            calls = calls > calls_max ? calls_max : calls;
            ns = source->burst(source->context, arm, calls);
        }
        if (!(ns > 0))
            return false;
        out->calls[arm] = calls;
    }
    return true;
}

static bool one_round(const struct timing_source *source, struct timing_samples *out)
{
    double sum[TIMING_ARMS_MAX] = { 0 };
    for (unsigned i = 0; i < 2 * out->arms; i++) {
        unsigned arm = i < out->arms ? i : 2 * out->arms - 1 - i;
        double ns = source->burst(source->context, arm, out->calls[arm]);
        if (!(ns > 0))
            return false;
        sum[arm] += ns;
    }
    for (unsigned arm = 0; arm < out->arms; arm++)
        out->ns[arm][out->rounds] = sum[arm] / (2.0 * (double)out->calls[arm]);
    out->rounds++;
    return true;
}

static bool narrow_enough(const struct timing_samples *samples, const struct timing_options *o)
{
    for (unsigned arm = 1; arm < samples->arms; arm++) {
        struct stats_interval r = timing_ratio(samples, 0, arm, 0.95, o->seed);
        if (!(log(r.hi) - log(r.lo) <= 2 * o->target))
            return false;
    }
    return true;
}

enum status timing_measure(const struct timing_source *source, const struct timing_options *options,
                           struct timing_samples *out)
{
    out->arms = options->arms;
    out->rounds = 0;
    if (options->arms < 1 || options->arms > TIMING_ARMS_MAX ||
        options->max_rounds > STATS_VALUES_MAX)
        return ST_INVALID;
    if (!size_bursts(source, options, out))
        return ST_DEVICE;
    double end_ns = source->now_ns(source->context) + options->budget_ns;
    while (out->rounds < options->max_rounds) {
        if (!one_round(source, out))
            return ST_DEVICE;
        if (out->rounds < options->min_rounds)
            continue;
        if (source->now_ns(source->context) >= end_ns ||
            (out->rounds % ROUNDS_BETWEEN_LOOKS == 0 && narrow_enough(out, options)))
            break;
    }
    return ST_OK;
}

double timing_median_ns(const struct timing_samples *samples, unsigned arm)
{
    double copy[STATS_VALUES_MAX];
    memcpy(copy, samples->ns[arm], samples->rounds * sizeof *copy);
    return stats_median(copy, samples->rounds);
}

struct stats_interval timing_ratio(const struct timing_samples *samples, unsigned base,
                                   unsigned arm, double level, uint64_t seed)
{
    double d[STATS_VALUES_MAX];
    for (unsigned i = 0; i < samples->rounds; i++)
        d[i] = log(samples->ns[base][i] / samples->ns[arm][i]);
    struct stats_interval ln = stats_bootstrap(d, samples->rounds, level, seed);
    return (struct stats_interval){ exp(ln.lo), exp(ln.mid), exp(ln.hi) };
}

double timing_noise(const struct timing_samples *samples, unsigned base, unsigned twin)
{
    struct stats_interval r = timing_ratio(samples, base, twin, 0.95, 1);
    return fmax(fabs(log(r.lo)), fabs(log(r.hi)));
}

enum result_call timing_decide(struct stats_interval ratio, double noise)
{
    double margin = isfinite(noise) ? fmax(noise, least_claim) : INFINITY;
    if (ratio.lo > 1 + margin)
        return RESULT_FASTER;
    if (ratio.hi < 1 / (1 + margin))
        return RESULT_SLOWER;
    if (ratio.lo >= 1 - least_claim && ratio.hi <= 1 + least_claim)
        return RESULT_SAME;
    return RESULT_UNCLEAR;
}

double timing_level(uint64_t comparisons)
{
    return 1 - 0.05 / (double)(comparisons ? comparisons : 1);
}
