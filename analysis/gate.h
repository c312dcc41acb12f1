/* SPDX-License-Identifier: Apache-2.0
 *
 * What a CI job asks: may this go on? Findings about one analysis, and about what became of the one
 * before; which of them fail is the policy's word. Texts hold clean names only (escape.h).
 */
#ifndef TILEWISE_ANALYSIS_GATE_H
#define TILEWISE_ANALYSIS_GATE_H

#include <stdio.h>

#include "analysis/diff.h"

/* X(id, word, member of policy.gate that makes it fail) */
#define GATE_KIND_LIST(X)                                                                          \
    X(REGRESSION, regression) /* a kernel lost what it had, or loses to the library */             \
    X(DRIFT, drift)           /* the mix of shapes is another one */                               \
    X(VERIFICATION, verification)                                                                  \
    X(VERDICT, verdict)   /* another word than before */                                           \
    X(PACE, pace)         /* recorded calls take longer than they did */                           \
    X(UNCLEAR, unclear)   /* the replay was too noisy to tell */                                   \
    X(WITHHELD, withheld) /* evidence too thin for a verdict */

enum gate_kind {
#define X(id, word) GATE_##id,
    GATE_KIND_LIST(X)
#undef X
        GATE_COVERAGE, /* below policy.gate.min_coverage: always fails */
    GATE_KINDS
};

struct gate_finding {
    enum gate_kind kind;
    bool fails;
    char where[96]; /* "gemm f32", "gemm f32 64 x 32 x 128 NN" */
    char text[512]; /* the numbers and the threshold */
};

struct gate {
    size_t count, failing;
    struct gate_finding *findings; /* those that fail first */
};

struct gate_input {
    const struct analysis *now;        /* its policy is the one that counts */
    const struct diff *diff;           /* from the base's traces to `now`; NULL: it has none */
    const struct result_set *replayed; /* the base's replays; may hold nothing */
    const char *kernels;               /* "a,b": these may not lose to the library; "" for none */
    bool any_hardware;                 /* compare replays of different machines */
};

/* NOMEM. */
enum status gate_run(struct gate **out, const struct gate_input *in, struct fault *fault);
void gate_free(struct gate *g); /* accepts NULL */

void gate_text(const struct gate *g, FILE *out);
enum status gate_json(const struct gate *g, FILE *out); /* NOMEM */

#endif
