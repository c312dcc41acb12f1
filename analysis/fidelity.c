/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/fidelity.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/match.h"
#include "analysis/quantile.h"
#include "traces/list.h"

static size_t count_lines(const char *text)
{
    size_t count = text[0] != '\0';
    for (; *text; text++)
        count += *text == '\n';
    return count;
}

static bool is_new_name(const struct summary *s, size_t row)
{
    for (size_t i = 0; i < row; i++)
        if (s->kernels[i].signature == s->kernels[row].signature &&
            s->kernels[i].name == s->kernels[row].name)
            return false;
    return true;
}

static int compare_kernels(const struct summary *s, size_t index, const char *replayed)
{
    size_t recorded = 0;
    bool same = true;
    for (size_t i = 0; replayed && replayed[0] && i < s->nkernels; i++) {
        if (s->kernels[i].signature != index || !is_new_name(s, i))
            continue;
        if (s->strings[s->kernels[i].name][0] == '\0')
            return -1;
        recorded++;
        same = same && list_holds(replayed, '\n', s->strings[s->kernels[i].name]);
    }
    return recorded == 0 ? -1 : same && recorded == count_lines(replayed);
}

struct fidelity_row fidelity_row(const struct summary *s, const struct result_set *results,
                                 size_t index, const struct result_case *result)
{
    const struct summary_signature *row = &s->signatures[index];
    struct fidelity_row out = { NAN, NAN, NAN, false, -1 };
    if (result == NULL)
        return out;
    double mean_ns = row->calls ? (double)row->time_ns / (double)row->calls : NAN;
    /* Results without a recorded time of their own are of the CPU, or from before there was one. */
    double recorded =
        match_has_gpu(results) || result->recorded_ns > 0 ? result->recorded_ns : mean_ns;
    bool by_kernels = result->kernel_ns > 0;
    double replayed = by_kernels ? result->kernel_ns : result->baseline_recorded_ns;
    out.same_kernels = compare_kernels(s, index, result->kernels);
    if (!(replayed > 0) || !(recorded > 0))
        return out;
    out.replayed_ns = replayed;
    out.recorded_ns = recorded;
    out.error = replayed / recorded - 1;
    out.by_events = match_has_gpu(results) && !by_kernels;
    return out;
}

bool fidelity_is_of(const char *device, const char *card)
{
    size_t length = strlen(card);
    return strncmp(device, card, length) == 0 && (device[length] == '\0' || device[length] == ',');
}

static const char *find_other_card(const struct result_set *results)
{
    for (size_t i = 0; i < results->nruns; i++) {
        const struct result_run *run = &results->runs[i];
        if (run->trace_device && run->trace_device[0] && run->device &&
            !fidelity_is_of(run->device, run->trace_device))
            return run->trace_device;
    }
    return NULL;
}

enum status fidelity_measure(const struct summary *s, const struct result_set *results,
                             const struct result_case **result_of, struct fidelity *out)
{
    double replayed = 0, recorded = 0, named = 0, same = 0;
    *out = (struct fidelity){ NAN, NAN, NAN, 0, 0, find_other_card(results) };
    double *errors = calloc(s->nsignatures + 1, sizeof *errors);
    if (errors == NULL)
        return ST_NOMEM;
    for (size_t i = 0; i < s->nsignatures && out->other_card == NULL; i++) {
        struct fidelity_row row = fidelity_row(s, results, i, result_of[i]);
        if (isnan(row.error))
            continue;
        double calls = (double)s->signatures[i].calls;
        replayed += calls * row.replayed_ns;
        recorded += calls * row.recorded_ns;
        named += row.same_kernels >= 0 ? calls * row.recorded_ns : 0;
        same += row.same_kernels == 1 ? calls * row.recorded_ns : 0;
        out->by_events += row.by_events;
        errors[out->signatures++] = fabs(row.error);
    }
    if (out->signatures) {
        out->total = replayed / recorded;
        out->median_abs_error = quantile_of(errors, out->signatures, 0.5);
        out->same_kernel_share = named > 0 ? same / named : NAN;
    }
    free(errors);
    return ST_OK;
}

struct fidelity_order fidelity_order(const struct result_set *results, size_t index)
{
    const struct result_order *row = &results->orders[index];
    struct fidelity_order out = { NAN, NAN, 0, 0 };
    for (size_t i = 0; i < index; i++)
        out.first += results->orders[i].nparts;
    out.first = out.first < results->nparts ? out.first : results->nparts;
    size_t left = results->nparts - out.first;
    out.count = row->nparts < left ? row->nparts : left;
    double *errors = calloc(out.count + 1, sizeof *errors);
    if (find_other_card(results) || errors == NULL) {
        free(errors);
        return out;
    }
    size_t known = 0;
    for (size_t i = out.first; i < out.first + out.count; i++) {
        const struct result_order_part *p = &results->parts[i];
        if (p->kernel_ns > 0 && p->recorded_ns > 0)
            errors[known++] = fabs(p->kernel_ns / p->recorded_ns - 1);
    }
    out.total = row->is_kernel_time ? row->kernel_ns / row->recorded_ns
                                    : row->baseline_ns / (row->recorded_ns + row->filler_ns);
    if (known)
        out.median_abs_error = quantile_of(errors, known, 0.5);
    free(errors);
    return out;
}
