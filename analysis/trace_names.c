/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/trace_names.h"

#include <stdbool.h>
#include <string.h>

enum { NAMES_MAX = 3 };

static bool is_first(const struct summary *s, size_t shard)
{
    for (size_t i = 0; i < shard; i++)
        if (strcmp(s->shards[i].path, s->shards[shard].path) == 0)
            return false;
    return true;
}

void trace_names(const struct summary *s, void (*escape)(FILE *out, const char *text), FILE *out)
{
    size_t count = 0;
    for (size_t i = 0; i < s->nshards; i++) {
        if (!is_first(s, i) || count++ >= NAMES_MAX)
            continue;
        const char *slash = strrchr(s->shards[i].path, '/');
        fputs(count > 1 ? ", " : "", out);
        escape(out, slash ? slash + 1 : s->shards[i].path);
    }
    if (count > NAMES_MAX)
        fprintf(out, " and %zu more", count - NAMES_MAX);
}

void trace_devices(const struct analysis *a, const char *unknown, const char *between,
                   void (*escape)(FILE *out, const char *text), FILE *out)
{
    const char *device = analysis_device(a);
    char gpu[256];
    escape(out, device ? device : unknown);
    if (!analysis_gpu(a, gpu, sizeof gpu))
        return;
    fputs(between, out);
    escape(out, gpu);
}
