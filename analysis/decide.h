/* SPDX-License-Identifier: Apache-2.0
 *
 * From the numbers of one group to a word and a sentence. Pure: no file, no clock, no state. The
 * matrix and its refinements: docs/decision.md.
 */
#ifndef TILEWISE_ANALYSIS_DECIDE_H
#define TILEWISE_ANALYSIS_DECIDE_H

#include "analysis/agreement.h"
#include "analysis/heat.h"
#include "analysis/policy.h"
#include "analysis/stability.h"

/* X(id, word, what it asks the reader to do) */
#define DECIDE_VERDICT_LIST(X)                                                                     \
    X(WITHHELD, "withheld", "Get the missing evidence first; do not act on these numbers.")        \
    X(STAY, "stay", "Stay on the library; look elsewhere.")                                        \
    X(NOTE, "note", "Stay on the library; note the shapes and look again when the load grows.")    \
    X(BATCH_FIRST, "batch-first", "Fix the pipeline first: batch or pad, then record again.")      \
    X(SPIKE, "spike", "Go deep: replay these shapes through a kernel before deciding.")            \
    X(ADOPT, "adopt", "Adopt the kernel for the listed shapes, with the way back in place.")       \
    X(PILOT, "pilot", "Try the kernel on a part of the load, with the way back in place.")         \
    X(RETUNE, "retune", "Change the library call, not the kernel.")                                \
    X(KEEP_BASELINE, "keep-baseline", "Keep the library: no kernel earns its upkeep here.")

enum decide_verdict {
#define X(id, word, advice) DECIDE_##id,
    DECIDE_VERDICT_LIST(X)
#undef X
        DECIDE_VERDICTS
};
const char *decide_word(enum decide_verdict v);
const char *decide_advice(enum decide_verdict v);

/* What the whole trace may say against any verdict. */
struct decide_evidence {
    double coverage_time; /* share of the time with a replayable, attributed signature; NaN */
    double lost_share;    /* of all calls seen */
    uint64_t windows;     /* of at least policy.evidence.calls_per_window calls */
};

/* What replay says about one group. Shares are of the group's recorded time. */
struct decide_replay {
    bool present;              /* at least one of its shapes was measured */
    bool capped;               /* the baseline ran with fewer instructions than the machine has */
    double replayed_share;     /* time of shapes whose best baseline was measured */
    double potential;          /* at most, summed over all ops: E h, E where h is unknown */
    double headroom;           /* time-weighted h of this group; NaN without ceilings */
    double headroom_share;     /* time of the shapes that `headroom` knows */
    double gain_lo, gain_hi;   /* against baseline best, of the whole trace */
    double gain_recorded_lo;   /* against baseline recorded */
    double order_lo, order_hi; /* of the table's kernels against baseline recorded, as an in-order
                                  replay is to show it: without the cost of choosing */
    double unclear_gain;       /* what shapes whose timing was UNCLEAR might gain at most */
    uint64_t unclear;          /* how many of them */
    double library_gain;       /* from baseline recorded to baseline best */
    uint64_t passed, winning, losing; /* shapes: verified; in the table; slower than worst_ratio */
    double worst_ratio;               /* of the table's kernels over the verified shapes; NaN */
    bool deterministic;               /* all of the table's kernels are */
};

struct decide_input {
    struct decide_evidence evidence;
    const struct heat *heat;
    const struct stability *stability;
    struct decide_replay replay;
    struct agreement in_order; /* of the whole trace with the whole table */
};

struct decide_result {
    enum decide_verdict verdict;
    char reason[480]; /* the numbers, and the one thing that would change the verdict */
};

/* NULL if the trace as a whole is good enough; else what is missing, written to `text`. */
const char *decide_withheld(const struct decide_evidence *e, const struct policy_evidence *policy,
                            char *text, size_t text_bytes);

struct decide_result decide(const struct decide_input *in, const struct policy *policy);

#endif
