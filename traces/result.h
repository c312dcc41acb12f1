/* SPDX-License-Identifier: Apache-2.0
 *
 * Replay results (.twr): what the replayer measured, as the analysis reads it. Records in the trace
 * container, written field by field from the tables in result.c, so that fields can be appended.
 * Ratios are baseline time / candidate time: above 1 the candidate is faster. Unknown numbers are
 * NaN, unknown strings "".
 */
#ifndef TILEWISE_TRACES_RESULT_H
#define TILEWISE_TRACES_RESULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "traces/signature.h"
#include "traces/status.h"

enum result_status {
    RESULT_NOT_VERIFIED = 0,
    RESULT_PASSED = 1,
    RESULT_FAILED = 2,
    RESULT_UNSUPPORTED = 3,
    RESULT_SKIPPED = 4, /* budget, memory */
    RESULT_CRASHED = 5, /* the child died: signal in `reason` */
    RESULT_TIMEOUT = 6,
};
const char *result_status_name(unsigned status); /* "passed", "not-verified", ... */

enum result_call {
    RESULT_CALL_NONE = 0, /* not timed */
    RESULT_FASTER = 1,
    RESULT_SAME = 2,
    RESULT_SLOWER = 3,
    RESULT_UNCLEAR = 4,
};
const char *result_call_name(unsigned call); /* "FASTER", ...; "-" for none */

/* One replay run: where and how it was measured. */
struct result_run {
    char *tilewise_version, *date_utc, *command, *host;
    char *backend;          /* "cpu" */
    char *device;           /* processor or GPU model */
    char *baseline_library; /* "OpenBLAS 0.3.21 ..." */
    char *baseline_core;    /* openblas_get_corename() */
    char *protocol;         /* one line: rounds, order, cache state, data */
    bool baseline_capped;   /* an instruction-set cap was detected: no verdict from these numbers */
    uint32_t threads;
    uint64_t trace_shards, planned_cases, unplanned_cases;
    double planned_time_share; /* of the recorded time */
    double noise_floor;        /* 95 % band of |ln ratio| in the A/A runs */
    char *trace_device;        /* that recorded, of the kind that this backend is; "": unknown */
};

/* Measured ceilings of the machine, one row per dtype. */
struct result_ceiling {
    uint8_t dtype;
    double rate_flops;            /* per second, best matrix rate seen */
    double bandwidth_bytes_per_s; /* read + write, out of cache */
    double floor_ns;              /* cost of the smallest call */
};

struct result_candidate {
    char *name, *reason;  /* reason: why not passed; "" otherwise */
    uint8_t status, call; /* enum result_status, result_call (against baseline best) */
    bool deterministic;
    uint32_t rounds;
    double time_ns;                                  /* median */
    double ratio_recorded, recorded_lo, recorded_hi; /* with its 95 % interval */
    double ratio_best, best_lo, best_hi;
    double worst_error; /* largest |c - ref| / bound; passed means <= 1 */
};

/* One planned (or, with `status` SKIPPED, unplanned) signature. */
struct result_case {
    struct tilewise_signature signature; /* entry is 0; the name is in `entry` */
    char *entry;
    uint64_t calls, time_ns; /* recorded */
    double time_share;       /* of all recorded time */
    uint8_t status;          /* of the baseline: PASSED, UNSUPPORTED, SKIPPED, CRASHED, ... */
    char *reason;
    double baseline_recorded_ns, baseline_best_ns; /* medians; NaN if not measured */
    char *baseline_best;                           /* routine: "sgemm", "sgemv", ... */
    double clock_mhz;    /* of the device, mean while the baseline was timed; NaN: unknown */
    double slowed_share; /* of that time: too hot, or held back from outside */
    double gpu_time_ns;  /* recorded time of the kernels of all calls; NaN: not recorded */
    double kernel_ns;    /* replayed recorded call: its kernels, by the vendor's profiler; NaN:
                            none, then baseline_recorded_ns is all that is known */
    char *kernels;       /* their names, one a line; "" if unknown */
    double noise;        /* 95 % band of |ln ratio| between two runs of the recorded call */
    double recorded_ns;  /* what kernel_ns (else baseline_recorded_ns) is held against: recorded
                            time of one call on the device; NaN: not recorded */
    char *second;        /* second baseline and its call: "PyTorch 2.11.0: torch.mm"; "": none */
    char *second_reason; /* why it has no time */
    double second_ns;    /* median */
    double second_ratio, second_lo, second_hi; /* recorded call / second, 95 % interval */
    size_t ncandidates;
    struct result_candidate *candidates;
};

/* One stretch of the trace, replayed in its order as a whole. Times are of one pass. */
struct result_order {
    char *source; /* "stream 7 of process 4711" */
    char *reason; /* why it was not measured, or what is not known */
    uint8_t status;
    bool in_graph, is_kernel_time;    /* recorded times are those of kernels; else of calls */
    uint64_t calls, fillers, repeats; /* steps of one pass; how often it was recorded */
    double recorded_ns, filler_ns;    /* recorded: the calls; what fillers stand in for */
    double kernel_ns;                 /* replayed: kernels of the calls */
    double baseline_ns, chosen_ns;    /* replayed: everything. chosen: with the quickest verified
                                         kernels in their places; NaN: there are none */
    double ratio, ratio_lo, ratio_hi; /* baseline / chosen */
    double noise;
    uint32_t rounds;
    uint32_t nparts;   /* rows of result_order_part that follow */
    double time_share; /* of the recorded time of all work: what its repeats stand for */
    char *traffic;     /* of the fillers: how many of each kind; "": unknown, or none */
};

/* The calls of one signature in a stretch. */
struct result_order_part {
    struct tilewise_signature signature;
    char *entry;
    uint64_t calls;
    double recorded_ns, kernel_ns; /* of one call, mean */
    bool chosen;
};

/* What was decided on an operation when the result was kept (`tilewise history add`): by the traces
 * and the policy of that day, so it never goes stale. */
struct result_verdict {
    uint8_t op, dtype;
    char *verdict, *stability, *reason;
    double heat, heat_lo, heat_hi, gain_lo, gain_hi;
};

struct result_set {
    size_t nruns, nceilings, ncases, norders, nparts, nverdicts;
    size_t ndamage; /* damaged stretches in the files: rows may be missing */
    struct result_run *runs;
    struct result_ceiling *ceilings;
    struct result_case *cases;
    struct result_order *orders;
    struct result_order_part *parts;
    struct result_verdict *verdicts;
};

/* A writer of one .twr; every appended row is in the file once the call returns (a later crash
 * loses nothing before it). Mode 0600. */
struct result_writer;
enum status result_create(struct result_writer **out, const char *path, struct fault *fault);
enum status result_put_run(struct result_writer *w, const struct result_run *run);
enum status result_put_ceiling(struct result_writer *w, const struct result_ceiling *ceiling);
enum status result_put_case(struct result_writer *w, const struct result_case *row);
enum status result_put_order(struct result_writer *w, const struct result_order *row);
enum status result_put_order_part(struct result_writer *w, const struct result_order_part *row);
enum status result_put_verdict(struct result_writer *w, const struct result_verdict *row);
enum status result_close(struct result_writer *w); /* accepts NULL */

/* Read and append to `set` (zero-initialised by the caller). All strings are non-NULL afterwards.
 */
enum status result_read(struct result_set *set, const char *path, struct fault *fault);
void result_free(struct result_set *set);

/* True if the file is a .twr by its header; false for anything else, readable or not. */
bool result_is_result_file(const char *path);

#endif
