/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/hardware.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/escape.h"

static bool same(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "") == 0;
}

bool hardware_same(const struct result_run *a, const struct result_run *b)
{
    return same(a->backend, b->backend) && same(a->device, b->device) &&
           same(a->baseline_core, b->baseline_core);
}

char *hardware_words(const struct result_run *run, char text[160])
{
    char *device = escape_copy(run->device), *core = escape_copy(run->baseline_core),
         *backend = escape_copy(run->backend);
    bool known = core && core[0];
    snprintf(text, 160, "%.80s (%.40s%s%.20s)", device && device[0] ? device : "unknown device",
             known ? core : "", known ? ", " : "", backend ? backend : "");
    free(device);
    free(core);
    free(backend);
    return text;
}
