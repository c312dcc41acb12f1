/* SPDX-License-Identifier: Apache-2.0
 *
 * Regimes of an operation, such as prefill and decode of one server: parts of its calls whose
 * shapes are to be judged apart. They are the phases that the program named (record --nvtx) where
 * its time is in several; else the two clusters of the sizes of a moving dimension, where there
 * clearly are two. A signature belongs to the phase that holds most of its calls.
 */
#ifndef TILEWISE_ANALYSIS_REGIMES_H
#define TILEWISE_ANALYSIS_REGIMES_H

#include <yajl/yajl_gen.h>

#include "analysis/policy.h"
#include "analysis/stability.h"

enum { REGIMES_MAX = 8 };

struct regime {
    const char *phase;              /* its name, not escaped; NULL: a cluster of shapes */
    enum shape_dimension dimension; /* of a cluster: which one, and its least and largest value */
    int64_t least, most;
    uint64_t calls;
    double time_ns, time_share; /* of its calls, on the GPU where that was measured; of the op */
    struct stability stability;
};

struct regimes {
    size_t count;                      /* 0: there is one only, and it is the whole */
    struct regime regime[REGIMES_MAX]; /* by time, largest first */
};

/* `members`: indexes into the summary's signatures, ascending; `whole`: their stability. NOMEM. */
enum status regimes_measure(struct regimes *out, const struct summary *s, const uint32_t *members,
                            size_t count, const struct stability *whole,
                            const struct policy *policy);

/* "decode" or "m 1 to 64", escaped. */
void regimes_name(const struct regime *r, char *text, size_t bytes);
/* Where the regimes differ in their stability, name them behind the text: " By regime: ...". */
void regimes_add_reason(const struct regimes *r, char *text, size_t bytes);
/* "decode 60.0 % of the time, stable, k90 3; ..."; false: there is one regime. */
bool regimes_words(const struct regimes *r, char *text, size_t bytes);
/* "regimes": [...] */
void regimes_json(yajl_gen g, const struct regimes *r);

#endif
