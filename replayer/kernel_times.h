/* SPDX-License-Identifier: Apache-2.0
 *
 * What the kernels of repeated calls took, by the vendor's profiler: the same measure that the
 * recorder takes of an application, so that both can be compared.
 */
#ifndef TILEWISE_REPLAYER_KERNEL_TIMES_H
#define TILEWISE_REPLAYER_KERNEL_TIMES_H

#include "replayer/backend.h"

enum { KERNEL_TIMES_NAME_BYTES = 2048 };

struct kernel_times {
    uint64_t calls; /* measured; 0: nothing is known */
    double ns;      /* of all kernels of one call, mean; NaN: unknown */
    /* Each once, in order of first use, one a line; "" where they are unknown or do not fit. */
    char names[KERNEL_TIMES_NAME_BYTES];
};

/* Run `burst` some times under the profiler; the first time does not count. False, and everything
 * unknown, where the backend has no profiler or it had no record for a call. */
bool kernel_times_measure(const struct backend *backend, struct backend_session *session,
                          const struct backend_burst *burst, struct kernel_times *out);

#endif
