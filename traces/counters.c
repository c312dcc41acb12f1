/* SPDX-License-Identifier: Apache-2.0 */
#include "traces/counters.h"

#include <stddef.h>

const char *loss_name(unsigned cause)
{
    static const char *const names[LOSS_MAX] = {
#define X(id, number, name, text) [number] = name,
        LOSS_LIST(X)
#undef X
    };
    return cause < LOSS_MAX ? names[cause] : NULL;
}

uint64_t loss_total(const struct trace_counters *c)
{
    uint64_t total = 0;
    for (unsigned i = 0; i < LOSS_MAX; i++)
        total += c->dropped[i];
    return total;
}

void counters_add(struct trace_counters *sum, const struct trace_counters *c)
{
    sum->seen += c->seen;
    sum->recorded += c->recorded;
    sum->untimed += c->untimed;
    sum->failed += c->failed;
    sum->cpu_ns += c->cpu_ns;
    for (unsigned i = 0; i < LOSS_MAX; i++)
        sum->dropped[i] += c->dropped[i];
}
