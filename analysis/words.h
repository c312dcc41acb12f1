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
/* "disk_full", or "unknown cause" */
const char *words_loss(unsigned cause);
/* "m, n"; "-" when none moves. */
const char *words_moving(const struct stability *s);
/* "64 x 32 x 128" as called, ", batch 12" behind it where there are several. */
const char *words_shape(const struct tilewise_signature *s);
/* The same seen row-major, as a framework writes it: "[64,128] x [128,32]"; "" for no gemm. */
const char *words_row_view(const struct tilewise_signature *s);
const char *words_trans(const struct tilewise_signature *s); /* "TN" */

/* "34,199 kernels in 19 windows of 1.25 s together, 0 without a record; busy 38.4 %" */
const char *words_windows(const struct summary_gpu *gpu);
/* The call that launched a kernel: "gemm bf16 64 x 32 x 128", or "no recorded call". */
const char *words_launcher(const struct summary *s, const struct summary_kernel *kernel);

/* "FASTER", or why there is no such word: "failed". */
const char *words_outcome(const struct result_candidate *c);
/* The candidate to show for a shape: the verified one with the best ratio, else the first; NULL. */
const struct result_candidate *words_candidate(const struct analysis_shape *shape);

#endif
