/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/headroom.h"

#include <math.h>

const struct result_ceiling *headroom_ceiling(const struct result_set *set, unsigned dtype)
{
    for (size_t i = set->nceilings; i > 0; i--)
        if (set->ceilings[i - 1].dtype == dtype)
            return &set->ceilings[i - 1];
    return NULL;
}

double headroom_sol_ns(const struct tilewise_signature *s, const struct result_ceiling *c)
{
    if (!c || !(c->rate_flops > 0) || !(c->bandwidth_bytes_per_s > 0) || !(c->floor_ns >= 0))
        return NAN;
    double compute_s = signature_flops(s) / c->rate_flops;
    double memory_s = signature_bytes(s) / c->bandwidth_bytes_per_s;
    return fmax(compute_s, memory_s) * 1e9 + c->floor_ns;
}

bool headroom_above_ceiling(const struct tilewise_signature *s, const struct result_ceiling *c,
                            double time_ns, const struct policy_headroom *policy)
{
    if (!c || !(c->rate_flops > 0) || !(time_ns > 0))
        return false;
    return signature_flops(s) / (time_ns * 1e-9) > c->rate_flops * (1 + policy->slack);
}

double headroom_of(const struct result_case *row, const struct result_ceiling *c,
                   const struct policy_headroom *policy)
{
    double sol_ns = headroom_sol_ns(&row->signature, c);
    if (isnan(sol_ns) || !(row->baseline_best_ns > 0) ||
        headroom_above_ceiling(&row->signature, c, row->baseline_best_ns, policy))
        return NAN;
    return fmax(0, 1 - sol_ns / row->baseline_best_ns);
}
