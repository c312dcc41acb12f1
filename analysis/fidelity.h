/* SPDX-License-Identifier: Apache-2.0
 *
 * How well the replay did what the process did: time of the recorded call when replayed, against
 * its recorded time. On a GPU that is time of kernels on both sides, by the vendor's profiler; on a
 * CPU time in the library. Claimed for the device that recorded only: two cards of one model differ
 * by as much as a replay may be wrong. NaN: not measured.
 */
#ifndef TILEWISE_ANALYSIS_FIDELITY_H
#define TILEWISE_ANALYSIS_FIDELITY_H

#include "traces/result.h"
#include "traces/summary.h"

/* Of one signature. */
struct fidelity_row {
    double replayed_ns, recorded_ns; /* of one call; both, or neither */
    double error;                    /* replayed / recorded - 1 */
    bool by_events;                  /* replayed_ns has the gaps between kernels in it */
    int same_kernels;                /* the same names: 1; others: 0; unknown on a side: -1 */
};

struct fidelity {
    double total;             /* replayed / recorded, over what has both, weighed by calls */
    double median_abs_error;  /* of the single signatures */
    double same_kernel_share; /* of the recorded time of those whose names are known */
    uint64_t signatures;      /* that have both */
    uint64_t by_events;       /* of these, those without kernel times of the replay */
    const char *other_card;   /* the traces' device where the replay's is another; else NULL */
};

/* Is a replay's device ("NVIDIA H200, 132 SMs, ...") of the card that a trace names? */
bool fidelity_is_of(const char *device, const char *card);

/* `index` of the summary's signature that was replayed as `result`. */
struct fidelity_row fidelity_row(const struct summary *s, const struct result_set *results,
                                 size_t index, const struct result_case *result);

/* `result_of` has one entry per signature of the summary; NULL: not replayed. NOMEM. */
enum status fidelity_measure(const struct summary *s, const struct result_set *results,
                             const struct result_case **result_of, struct fidelity *out);

/* Of one stretch replayed in its order: kernels of the calls against their recorded time; on a CPU
 * everything against everything. Its parts are rows `first` and following of the results. */
struct fidelity_order {
    double total, median_abs_error;
    size_t first, count;
};
struct fidelity_order fidelity_order(const struct result_set *results, size_t index);

#endif
