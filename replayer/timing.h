/* SPDX-License-Identifier: Apache-2.0
 *
 * Compares the time of two or more ways ("arms") to do one thing. Knows no backend and no clock:
 * the source runs a burst of calls and says how long it took. docs/measuring.md explains the
 * protocol.
 *
 * The unit is a round: every arm once forwards, then once backwards (A B C C B A), so that a drift
 * of the machine weighs the same on all of them. Ratios are taken within a round.
 */
#ifndef TILEWISE_REPLAYER_TIMING_H
#define TILEWISE_REPLAYER_TIMING_H

#include <stdbool.h>
#include <stdint.h>

#include "replayer/stats.h"
#include "traces/result.h"
#include "traces/status.h"

enum { TIMING_ARMS_MAX = 8 };

struct timing_source {
    void *context;
    /* Run `calls` calls of `arm` back to back; the time of all of them in ns, or NaN on failure. */
    double (*burst)(void *context, unsigned arm, uint64_t calls);
    double (*now_ns)(void *context); /* the clock that the budget is kept by */
};

struct timing_options {
    unsigned arms;
    double burst_ns;  /* grow bursts to this length */
    double budget_ns; /* stop after this much time, but not before min_rounds */
    double target;    /* stop when every arm's ln ratio to arm 0 is known to +- this (95 %) */
    unsigned min_rounds, max_rounds; /* at most STATS_VALUES_MAX */
    uint64_t seed;
};

struct timing_samples {
    unsigned arms, rounds;
    uint64_t calls[TIMING_ARMS_MAX];              /* in one burst */
    double ns[TIMING_ARMS_MAX][STATS_VALUES_MAX]; /* of one call, per round */
};

/* ST_DEVICE when a burst fails. */
enum status timing_measure(const struct timing_source *source, const struct timing_options *options,
                           struct timing_samples *out);

/* Median time of one call. */
double timing_median_ns(const struct timing_samples *samples, unsigned arm);

/* time of `base` / time of `arm`: above 1 the arm is faster. */
struct stats_interval timing_ratio(const struct timing_samples *samples, unsigned base,
                                   unsigned arm, double level, uint64_t seed);

/* Noise floor from two arms that are the same: the largest |ln ratio| in the 95 % interval. */
double timing_noise(const struct timing_samples *samples, unsigned base, unsigned twin);

/* FASTER or SLOWER only beyond max(noise, 1 %); SAME only if the whole interval lies within 1 %;
 * else UNCLEAR. NaN anywhere: UNCLEAR. */
enum result_call timing_decide(struct stats_interval ratio, double noise);

/* Level of each of `comparisons` intervals so that all of them hold together at 95 %. */
double timing_level(uint64_t comparisons);

#endif
