/* SPDX-License-Identifier: Apache-2.0
 *
 * Numbers as a person reads them. Unknown ones are "-". Each call returns one of a few static
 * buffers: use the text before the sixteenth call after it. One thread.
 */
#ifndef TILEWISE_ANALYSIS_WORDS_H
#define TILEWISE_ANALYSIS_WORDS_H

#include <stdint.h>

#include "analysis/analysis.h"

const char *words_count(uint64_t n);                      /* "1,234,567" */
const char *words_share(double share);                    /* 0.1234: "12.3 %" */
const char *words_real(double v, int digits);             /* after the point */
const char *words_ns(double ns);                          /* "12.3 us", "1.50 s" */
const char *words_level(const char *level);               /* itself, or "unknown" for NULL */
const char *words_operation(unsigned op, unsigned dtype); /* "gemm f32" */
/* 1.5e12: "1.50 T"; from no prefix to P. */
const char *words_scaled(double v);
/* "m, n"; "-" when none moves. */
const char *words_moving(const struct stability *s);
/* "64 x 32 x 128" as called, " x 12 batches" behind it where there are several. */
const char *words_shape(const struct tilewise_signature *s);
/* The same seen row-major, as a framework writes it: "[64,128] x [128,32]"; "" for no gemm. */
const char *words_row_view(const struct tilewise_signature *s);
const char *words_trans(const struct tilewise_signature *s); /* "TN" */

/* The candidate to show for a shape: the verified one with the best ratio, else the first; NULL. */
const struct result_candidate *words_candidate(const struct analysis_shape *shape);

#endif
