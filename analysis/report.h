/* SPDX-License-Identifier: Apache-2.0
 *
 * One analysis, six ways to write it. The same analysis gives the same bytes. Hostile names are
 * harmless in each of them (escape.h). Failed writes show in ferror(out).
 */
#ifndef TILEWISE_ANALYSIS_REPORT_H
#define TILEWISE_ANALYSIS_REPORT_H

#include <stdio.h>

#include "analysis/analysis.h"

/* For a terminal: coverage first, then the matrix, the verdicts, the largest shapes. */
void report_text(const struct analysis *a, FILE *out);
/* The contract of docs/decision.md: unknown is null, never 0. NOMEM. */
enum status report_json(const struct analysis *a, FILE *out);
/* One row per shape, with its best candidate. */
void report_csv(const struct analysis *a, FILE *out);
/* The dispatch table in YAML: which shapes go to which kernel, which stay, and why. */
void report_dispatch(const struct analysis *a, FILE *out);
void report_md(const struct analysis *a, FILE *out);
/* One page that needs no network and runs no script; below 1 MB for 1,000 shapes. */
void report_html(const struct analysis *a, FILE *out);

#endif
