/* SPDX-License-Identifier: Apache-2.0
 *
 * Every threshold of a verdict. Defaults and their sources: docs/decision.md. A YAML file may
 * change any of them: the keys are those of POLICY_LIST, grouped in maps.
 */
#ifndef TILEWISE_ANALYSIS_POLICY_H
#define TILEWISE_ANALYSIS_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "traces/schema.h"

/*   map, key in YAML, member, type, C type, default, min, max */
/* clang-format off */
#define POLICY_LIST(X)                                                                    \
    X(heat,      "high",             high,             REAL,    double,   0.10,  0, 1)    \
    X(stability, "k90",              k90,              COUNT,   uint64_t, 32,    1, 1e6)  \
    X(stability, "cov05",            cov05,            REAL,    double,   0.90,  0, 1)    \
    X(stability, "unseen",           unseen,           REAL,    double,   0.02,  0, 1)    \
    X(stability, "drift",            drift,            REAL,    double,   0.05,  0, 1)    \
    X(stability, "table",            table,            REAL,    double,   0.95,  0, 1)    \
    X(stability, "moving",           moving,           REAL,    double,   4,     1, 1e6)  \
    X(tile,      "m",                m,                COUNT,   uint64_t, 64,    1, 65536) \
    X(tile,      "n",                n,                COUNT,   uint64_t, 64,    1, 65536) \
    X(tile,      "k",                k,                COUNT,   uint64_t, 32,    1, 65536) \
    X(evidence,  "coverage-time",    coverage_time,    REAL,    double,   0.80,  0, 1)    \
    X(evidence,  "lost",             lost,             REAL,    double,   0.01,  0, 1)    \
    X(evidence,  "windows",          windows,          COUNT,   uint64_t, 10,    1, 1e6)  \
    X(evidence,  "calls-per-window", calls_per_window, COUNT,   uint64_t, 100,   1, 1e12) \
    X(evidence,  "replayed",         replayed,         REAL,    double,   0.80,  0, 1)    \
    X(headroom,  "stop",             stop,             REAL,    double,   0.03,  0, 1)    \
    X(headroom,  "slack",            slack,            REAL,    double,   0.05,  0, 1)    \
    X(gain,      "adopt",            adopt,            REAL,    double,   0.02,  0, 1)    \
    X(gain,      "pilot",            pilot,            REAL,    double,   0.005, 0, 1)    \
    X(gain,      "worst-ratio",      worst_ratio,      REAL,    double,   0.99,  0, 2)    \
    X(gain,      "noise",            noise,            REAL,    double,   0.01,  0, 1)    \
    X(gain,      "dispatch",         dispatch_s,       SECONDS, double,   50e-9, 0, 1)    \
    X(gain,      "deterministic",    deterministic,    FLAG,    bool,     true,  0, 0)    \
    X(gate,      "max-regression",   max_regression,   REAL,    double,   0.05,  0, 1)    \
    X(gate,      "min-coverage",     min_coverage,     REAL,    double,   0,     0, 1)    \
    X(gate,      "regression",       regression,       FLAG,    bool,     true,  0, 0)    \
    X(gate,      "drift",            drift,            FLAG,    bool,     true,  0, 0)    \
    X(gate,      "verification",     verification,     FLAG,    bool,     true,  0, 0)    \
    X(gate,      "verdict",          verdict,          FLAG,    bool,     false, 0, 0)    \
    X(gate,      "pace",             pace,             FLAG,    bool,     false, 0, 0)    \
    X(gate,      "unclear",          unclear,          FLAG,    bool,     false, 0, 0)    \
    X(gate,      "withheld",         withheld,         FLAG,    bool,     false, 0, 0)
#define POLICY_MAP_LIST(X) X(heat) X(stability) X(tile) X(evidence) X(headroom) X(gain) X(gate)
/* clang-format on */

struct policy_heat {
    double high; /* heat is high when the lower bound of E reaches this */
};
struct policy_stability {
    uint64_t k90;                /* at most */
    double cov05, unseen, drift; /* at least, at most, at most */
    double table;                /* share of the time that the walk-forward table holds */
    double moving;               /* a dimension with more effective values than this moves */
};
struct policy_tile {
    uint64_t m, n, k;
};
struct policy_evidence {
    double coverage_time, lost;         /* at least, at most; else every verdict is withheld */
    uint64_t windows, calls_per_window; /* at least that many windows of that many calls */
    double replayed; /* share of an op's time that replay must hold to say keep-baseline */
};
struct policy_headroom {
    double stop;  /* write no kernel when sum E h is below this */
    double slack; /* a result this far above the measured ceiling is an error */
};
struct policy_gain {
    double adopt, pilot; /* G_lo at least */
    double worst_ratio;  /* adopt: no shape of the table's kernels below this */
    double noise;        /* least margin over 1 that counts as faster */
    double dispatch_s;   /* cost of choosing a kernel, per call */
    bool deterministic;  /* adopt only kernels whose repeat runs are bitwise equal */
};
struct policy_gate {
    double max_regression; /* how much slower a kernel or a call may have become */
    double min_coverage;   /* of time; 0: any */
    /* Which findings end `gate` with status 1 (analysis/gate.h). */
    bool regression, drift, verification, verdict, pace, unclear, withheld;
};

struct policy {
    struct policy_heat heat;
    struct policy_stability stability;
    struct policy_tile tile;
    struct policy_evidence evidence;
    struct policy_headroom headroom;
    struct policy_gain gain;
    struct policy_gate gate;
};

/* The fields of one policy as a schema table (maps of values). */
struct policy_fields {
    struct schema_field maps[8], values[7][12];
};

void policy_default(struct policy *p);
/* Point `fields` at the members of `p`; returns fields->maps. Both must outlive the use. */
const struct schema_field *policy_bind(struct policy *p, struct policy_fields *fields);
/* Defaults, then what the file says ("": no file). Errors as in schema.h. */
enum status policy_read(struct policy *p, const char *path, struct fault *fault);

#endif
