/* SPDX-License-Identifier: Apache-2.0
 *
 * The sections of the HTML report, in their order on the page, and the pieces that they are made
 * of. What comes from a trace goes through escape_html; numbers and words of ours need not.
 */
#ifndef TILEWISE_ANALYSIS_HTML_H
#define TILEWISE_ANALYSIS_HTML_H

#include <stdio.h>

#include "analysis/analysis.h"

/* What the trace can speak for, and what was lost. */
void html_coverage(const struct analysis *a, FILE *out);
/* The verdicts in short beside the picture, then its numbers. */
void html_matrix(const struct analysis *a, FILE *out);
/* When something ran, what idle waited for, and the kernels of the GPU. */
void html_time(const struct analysis *a, FILE *out);
/* One card per operation: why, and the histograms of its shapes. */
void html_cards(const struct analysis *a, FILE *out);
void html_shapes(const struct analysis *a, FILE *out);
/* Roofline, candidates, fidelity. */
void html_replay(const struct analysis *a, FILE *out);
/* How this was measured: methods, thresholds, processes, facts. */
void html_method(const struct analysis *a, FILE *out);

/* A table that scrolls sideways, by keyboard too. `columns` by '|'; those at the left begin with
 * '<'. */
void html_open_table(FILE *out, const char *label, const char *columns);
void html_close_table(FILE *out);
/* The verdict in its frame. */
void html_verdict(FILE *out, const struct analysis_group *g);
/* A row of a <dl>; `value` holds no markup. */
void html_fact(FILE *out, const char *name, const char *value);

#endif
