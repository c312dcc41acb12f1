/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/agreement.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

static bool is_measured(const struct result_order *row)
{
    return row->status == RESULT_PASSED && row->time_share > 0;
}

static bool same(const struct result_order *a, const struct result_order *b)
{
    return strcmp(a->source, b->source) == 0 && a->calls == b->calls && a->fillers == b->fillers;
}

/* Of two measurements of one stretch the last counts. */
static bool is_measured_again(const struct result_set *results, size_t index)
{
    for (size_t i = index + 1; i < results->norders; i++)
        if (is_measured(&results->orders[i]) && same(&results->orders[i], &results->orders[index]))
            return true;
    return false;
}

/* 1 - 1/r; a stretch where the table has nothing saves nothing. */
static double saving(double ratio)
{
    return ratio > 0 ? 1 - 1 / ratio : 0;
}

/* The kernels save a share of busy time; of the whole that is E / B as much, on the average of what
 * the operations promise. */
static double whole_per_busy(const struct agreement_promise *promises, size_t count)
{
    double whole = 0, busy = 0;
    for (size_t i = 0; i < count; i++) {
        const struct agreement_promise *p = &promises[i];
        if (!(p->hi > 0) || !(p->heat > 0) || !(p->busy_share > 0))
            continue;
        whole += p->hi;
        busy += p->hi * p->busy_share / p->heat;
    }
    return whole / busy;
}

void agreement_measure(struct agreement *out, const struct result_set *results,
                       const struct agreement_promise *promises, size_t count)
{
    double saved = 0, saved_lo = 0, saved_hi = 0, factor = whole_per_busy(promises, count);
    *out = (struct agreement){ .gain = NAN, .lo = NAN, .hi = NAN };
    for (size_t i = 0; i < count; i++) {
        out->promised_lo += promises[i].lo;
        out->promised_hi += promises[i].hi;
    }
    for (size_t i = 0; i < results->norders; i++) {
        const struct result_order *row = &results->orders[i];
        if (!is_measured(row) || is_measured_again(results, i))
            continue;
        out->covered += row->time_share;
        saved += row->time_share * saving(row->ratio);
        saved_lo += row->time_share * saving(row->ratio_lo);
        saved_hi += row->time_share * saving(row->ratio_hi);
    }
    if (out->covered > 0) {
        out->gain = factor * saved / out->covered;
        out->lo = factor * saved_lo / out->covered;
        out->hi = factor * saved_hi / out->covered;
    }
    out->covered = fmin(out->covered, 1);
}
