/* SPDX-License-Identifier: Apache-2.0
 *
 * Everything a report prints, computed once from a summary, replay results and a policy. It points
 * into all three, which must outlive it. NaN: unknown.
 */
#ifndef TILEWISE_ANALYSIS_ANALYSIS_H
#define TILEWISE_ANALYSIS_ANALYSIS_H

#include "analysis/causal.h"
#include "analysis/decide.h"
#include "analysis/fidelity.h"
#include "analysis/heat.h"
#include "analysis/policy.h"
#include "analysis/regimes.h"
#include "analysis/stability.h"
#include "traces/result.h"
#include "traces/summary.h"

/* One row of the matrix: all calls of an (op, dtype of C), or those of one shape class in it. */
struct analysis_group {
    uint8_t op, dtype;
    const char *shape_class; /* NULL for the whole op */
    size_t nmembers;
    uint32_t *members; /* indexes into the summary's signatures, ascending */
    uint64_t calls, time_ns;
    double active_ns; /* of a class: its share of the op's union */
    struct heat heat;
    struct stability stability;
    struct regimes regimes; /* of a whole op */
    struct decide_replay replay;
    struct decide_result decision;
};

/* The calls of a shape that were made in a phase. */
struct analysis_phase {
    uint32_t phase; /* index into summary.phases.phases */
    uint64_t calls, time_ns;
};

/* One row of a report: a shape as called, through one entry point. Signatures that differ only in
 * alignment are one shape; the one with the most time stands for them. */
struct analysis_shape {
    const struct tilewise_signature *signature; /* of the largest of them */
    size_t signatures;                          /* how many share the row */
    const char *entry;                          /* entry point, "" if unknown */
    uint64_t calls, time_ns, min_ns, max_ns;
    struct histogram histogram;
    double work_ns;                   /* evidence_time_ns of all its calls */
    double time_share, headroom;      /* share of that; NaN: unknown */
    double gpu_time_ns;               /* of all its calls; NaN: none was measured */
    struct fidelity_row fidelity;     /* of that result */
    const struct result_case *result; /* of the largest that was replayed; NULL: none was */
    size_t nphases;                   /* phases.h */
    const struct analysis_phase *phases;
};

struct analysis {
    const struct summary *summary;
    const struct result_set *results;
    const struct policy *policy;
    struct decide_evidence evidence;
    double coverage_calls;
    double potential, potential_unknown; /* sum E h over ops, and sum E of those without h */
    char withheld[240];                  /* "" or why every verdict is withheld */
    struct fidelity fidelity;
    struct agreement in_order;
    struct causal *causal;    /* effects of the ops, then of the classes; NULL: unknown */
    char timeline_fault[160]; /* "" or why it could not be read */
    size_t nops, nclasses, nshapes, nnotes;
    struct analysis_group *ops, *classes; /* by time, largest first */
    struct analysis_shape *shapes;        /* by work_ns, largest first */
    struct analysis_phase *phase_rows;    /* what the shapes point into */
    const struct result_case **result_of; /* per signature of the summary; NULL: not replayed */
    size_t elsewhere;                     /* signatures of a GPU, replayed on a processor: NULL */
    char (*notes)[240];                   /* what a reader must know: results not believed, ... */
};

/* `results` may hold nothing. NOMEM. */
enum status analysis_build(struct analysis **out, const struct summary *s,
                           const struct result_set *results, const struct policy *policy,
                           struct fault *fault);
void analysis_free(struct analysis *a); /* accepts NULL */

/* The device that ran the work: recorded, else that of the replay; NULL if unknown. */
const char *analysis_device(const struct analysis *a);
/* The GPU of the recording into `text`; false: it used none. */
bool analysis_gpu(const struct analysis *a, char *text, size_t bytes);

#endif
