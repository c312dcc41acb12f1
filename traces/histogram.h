/* SPDX-License-Identifier: Apache-2.0
 *
 * Base-2 exponential histogram of durations, at one fixed scale: bucket b of 4 per octave holds
 * (2^(b/4), 2^((b+1)/4)] ns, so a quantile is within 9 % of the truth. Equal in meaning to
 * OpenTelemetry's exponential histogram at scale 2; merging is adding, exactly.
 */
#ifndef TILEWISE_TRACES_HISTOGRAM_H
#define TILEWISE_TRACES_HISTOGRAM_H

#include <stdint.h>

enum { HISTOGRAM_SCALE = 2, HISTOGRAM_BUCKETS = 160 }; /* up to 2^40 ns, 18 minutes */

struct histogram {
    uint64_t count[HISTOGRAM_BUCKETS];
};

/* Bucket of a duration; 0 for 0 and 1 ns; the last bucket holds everything above. No floats: used
 * on the shim's hot path. */
unsigned histogram_bucket(uint64_t ns);
/* Upper bound of a bucket in ns. */
double histogram_upper_ns(unsigned bucket);
void histogram_add(struct histogram *h, const struct histogram *other);
/* Duration at quantile q (0..1): geometric middle of the bucket; 0 for an empty histogram. */
double histogram_quantile_ns(const struct histogram *h, double q);

#endif
