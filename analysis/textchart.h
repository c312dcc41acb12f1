/* SPDX-License-Identifier: Apache-2.0
 *
 * Charts of the shapes of one group in plain ASCII, for a terminal: the lengths say it, no colour.
 */
#ifndef TILEWISE_ANALYSIS_TEXTCHART_H
#define TILEWISE_ANALYSIS_TEXTCHART_H

#include <stdio.h>

#include "analysis/shape_bins.h"

/* Shares of time (bars) and calls by the values of one dimension. NOMEM. */
enum status textchart_dimension(const struct analysis *a, const struct analysis_group *g,
                                enum shape_dimension d, FILE *out);
/* The same by the largest shapes. NOMEM. */
enum status textchart_shapes(const struct analysis *a, const struct analysis_group *g, FILE *out);
/* The largest shapes by window: the denser the sign, the more of the group's time (or of its calls)
 * in that window. NOMEM. */
enum status textchart_windows(const struct analysis *a, const struct analysis_group *g,
                              bool by_calls, FILE *out);

/* What each of the first `shown` of all the group's shares (shape_bins_shares) holds of its time or
 * calls in window w: [w * shown + i]; durations are means of the whole run. A window without the
 * group has zeros. To be freed; NULL without memory. */
double *textchart_window_shares(const struct analysis *a, const struct analysis_group *g,
                                const struct shape_share *shares, size_t shown, bool by_calls);

#endif
