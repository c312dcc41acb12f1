/* SPDX-License-Identifier: Apache-2.0 */
#include "replayer/kernel_times.h"

#include <math.h>
#include <string.h>

#include "traces/list.h"

enum { REPEATS = 4 };

/* False: there is no room, and a part of a list would be taken for all of it. */
static bool list(char *names, const char *name)
{
    size_t used = strlen(names), length = strlen(name);
    if (used && list_holds(names, '\n', name))
        return true;
    if (length == 0 || used + length + 2 > KERNEL_TIMES_NAME_BYTES)
        return false;
    if (used)
        names[used++] = '\n';
    memcpy(names + used, name, length + 1);
    return true;
}

bool kernel_times_measure(const struct backend *backend, struct backend_session *session,
                          const struct backend_burst *burst, struct kernel_times *out)
{
    double sum_ns = 0;
    bool named = true;
    *out = (struct kernel_times){ .ns = NAN };
    for (int i = 0; backend->kernels && i <= REPEATS; i++) {
        size_t count = 0;
        const struct backend_kernel *rows = backend->kernels(session, burst, &count);
        if (rows == NULL || count < burst->calls || count % burst->calls != 0) {
            *out = (struct kernel_times){ .ns = NAN };
            return false;
        }
        for (size_t row = 0; i > 0 && row < count; row++) {
            sum_ns += rows[row].ns;
            named = named && list(out->names, rows[row].name);
        }
        out->calls += i > 0 ? burst->calls : 0;
    }
    if (out->calls)
        out->ns = sum_ns / (double)out->calls;
    if (!named)
        out->names[0] = '\0';
    return out->calls > 0;
}
