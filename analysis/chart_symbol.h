/* SPDX-License-Identifier: Apache-2.0
 *
 * Markers that differ in form, so that colour is not needed to tell them apart.
 */
#ifndef TILEWISE_ANALYSIS_CHART_SYMBOL_H
#define TILEWISE_ANALYSIS_CHART_SYMBOL_H

#include <stdio.h>

enum chart_symbol { CHART_CIRCLE, CHART_SQUARE, CHART_DIAMOND, CHART_TRIANGLE };

/* Around (x, y), of radius r. */
void chart_symbol(FILE *out, enum chart_symbol symbol, double x, double y, double r);

#endif
