/* SPDX-License-Identifier: Apache-2.0
 *
 * What stands in a .twt / .twr file, as C. docs/trace-format.md is the specification; this header
 * follows it. Everything is little-endian.
 */
#ifndef TILEWISE_TRACES_FORMAT_H
#define TILEWISE_TRACES_FORMAT_H

#include <stdint.h>

enum trace_kind { TRACE_KIND_RECORDED = 1, TRACE_KIND_RESULT = 2, TRACE_KIND_MERGED = 3 };

/* Who wrote this: unique per recorded process. Ordered by its bytes. */
struct shard_id {
    uint64_t host_hash;     /* of the host name */
    uint64_t boot_id[2];    /* /proc/sys/kernel/random/boot_id */
    uint64_t start_unix_ns; /* when recording began */
    uint32_t pid;
    uint32_t part; /* 0; 1, 2, ... when one process wrote several files */
};

enum {
    TRACE_TICK_NS = 100,            /* default tick of event times */
    TRACE_FRAME_RAW_MAX = 1 << 20,  /* bytes of a frame before compression, at most */
    TRACE_SIGNATURES_MAX = 1 << 20, /* distinct signatures in one file, at most */
    TRACE_STRING_BYTES_MAX = 4096,
    TRACE_THREADS_MAX = 1 << 16,
};

#endif
