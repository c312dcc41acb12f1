/* SPDX-License-Identifier: Apache-2.0
 *
 * What a recorder measured of a GPU: kernels by name and by the call that launched them, and the
 * windows in which it looked. Shared by writer, reader and summary.
 */
#ifndef TILEWISE_TRACES_GPU_H
#define TILEWISE_TRACES_GPU_H

#include <stdint.h>

#define GPU_NO_SIGNATURE UINT32_MAX

/* Launches of one kernel for one signature since the row before: in windows only. */
struct gpu_kernel {
    uint32_t name;      /* string id */
    uint32_t signature; /* id, GPU_NO_SIGNATURE: launched outside of recorded calls */
    uint64_t launches;
    uint64_t calls;    /* of `measured`, those that were the first kernel of their call */
    uint64_t measured; /* of `launches`, those with times */
    uint64_t sum_ns, min_ns, max_ns;
};

/* One stretch of time in which kernels were recorded. */
struct gpu_window {
    uint64_t begin_ns, end_ns; /* on the host, since the shard's start */
    uint64_t busy_ns;          /* union of the kernels launched in it */
    uint64_t launches, records, dropped;
};

/* Cumulative. Contract: launches = records + dropped. */
struct gpu_totals {
    uint64_t launches; /* kernels launched in windows, nodes of launched graphs included */
    uint64_t records;  /* of those, known by name */
    uint64_t dropped;  /* of those, without a record */
    uint64_t untimed;  /* of the records, without times */
    uint64_t windows, window_ns, busy_ns;
};

#endif
