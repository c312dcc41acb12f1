/* SPDX-License-Identifier: Apache-2.0
 *
 * Tracks of recorded work cut into stretches that repeat, and the same stretch of several tracks
 * counted together. For sequence.c alone.
 */
#ifndef TILEWISE_REPLAYER_SEQUENCE_CUT_H
#define TILEWISE_REPLAYER_SEQUENCE_CUT_H

#include "replayer/sequence.h"

enum { SEQUENCE_TRACK_MAX = 1 << 15, SEQUENCE_KINDS_MAX = 32 };

/* The smallest period of the longest stretch of `steps` whose symbols repeat at least three times;
 * its length is the period times the whole repeats. False: nothing repeats. */
struct sequence_period {
    size_t start, period, repeats;
};
bool sequence_find_period(const struct sequence_step *steps, size_t count,
                          struct sequence_period *out);

/* What one stream or thread did. */
struct sequence_track {
    size_t count;
    struct sequence_step *steps; /* room for SEQUENCE_TRACK_MAX */
    size_t graphs;               /* steps launched by a graph */
    bool is_kernel_time;
    const char *source;
};

/* Different stretches, as they were found. */
struct sequence_kinds {
    size_t count;
    struct sequence *row[SEQUENCE_KINDS_MAX];
    double total_ns; /* of all recorded work, cut or not */
};

/* Cut a track and add its stretches. What does not repeat is a stretch as it is. Its time must be
 * in total_ns already: parts that hardly count are left out. NOMEM. */
enum status sequence_cut(struct sequence_kinds *kinds, const struct sequence_track *track);
void sequence_free(struct sequence *s); /* accepts NULL */

#endif
