/* SPDX-License-Identifier: Apache-2.0 */
#include "traces/histogram.h"

/* 2^(e / 8) without libm, which the shim must not need. */
static double power_of_two_eighths(unsigned e)
{
    static const double fraction[8] = {
        1.0,
        1.0905077326652577,
        1.1892071150027210,
        1.2968395546510096,
        1.4142135623730951,
        1.5422108254079409,
        1.6817928305074291,
        1.8340080864093425,
    };
    return fraction[e % 8] * (double)(UINT64_C(1) << e / 8);
}

unsigned histogram_bucket(uint64_t ns)
{
    if (ns <= 1)
        return 0;
    /* ns = f * 2^octave with f in [1, 2); f against 1, 2^(1/4), 2^(1/2), 2^(3/4) in 1.63 bits. */
    unsigned zeros = (unsigned)__builtin_clzll(ns);
    uint64_t f = ns << zeros;
    unsigned bucket = 4 * (63 - zeros) - 1 + (f > UINT64_C(0x8000000000000000)) +
                      (f > UINT64_C(0x9837f0518db8a96f)) + (f > UINT64_C(0xb504f333f9de6484)) +
                      (f > UINT64_C(0xd744fccad69d6af4));
    return bucket < HISTOGRAM_BUCKETS ? bucket : HISTOGRAM_BUCKETS - 1;
}

double histogram_upper_ns(unsigned bucket)
{
    return power_of_two_eighths(2 * (bucket + 1));
}

void histogram_add(struct histogram *h, const struct histogram *other)
{
    for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++)
        h->count[i] += other->count[i];
}

double histogram_quantile_ns(const struct histogram *h, double q)
{
    double total = 0;
    for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++)
        total += (double)h->count[i];
    double below = 0;
    for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++) {
        below += (double)h->count[i];
        if (h->count[i] && below >= q * total)
            return power_of_two_eighths(2 * i + 1);
    }
    return 0;
}
