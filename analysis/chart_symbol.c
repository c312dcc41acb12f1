/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/chart_symbol.h"

void chart_symbol(FILE *out, enum chart_symbol symbol, double x, double y, double r)
{
    switch (symbol) {
    case CHART_CIRCLE:
        fprintf(out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\"/>", x, y, r);
        break;
    case CHART_SQUARE:
        fprintf(out, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>", x - r, y - r,
                2 * r, 2 * r);
        break;
    case CHART_DIAMOND:
        fprintf(out, "<path d=\"M%.1f %.1fl%.1f %.1fl%.1f %.1fl%.1f %.1fz\"/>", x, y - 1.3 * r,
                1.3 * r, 1.3 * r, -1.3 * r, 1.3 * r, -1.3 * r, -1.3 * r);
        break;
    case CHART_TRIANGLE:
        fprintf(out, "<path d=\"M%.1f %.1fl%.1f %.1fh%.1fz\"/>", x, y - r, r, 1.8 * r, -2 * r);
    }
}
