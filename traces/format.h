/* SPDX-License-Identifier: Apache-2.0
 *
 * What stands in a .twt / .twr file, as C. docs/trace-format.md is the specification; this header
 * follows it. Everything is little-endian.
 */
#ifndef TILEWISE_TRACES_FORMAT_H
#define TILEWISE_TRACES_FORMAT_H

#include <stdint.h>

enum trace_kind { TRACE_KIND_RECORDED = 1, TRACE_KIND_RESULT = 2, TRACE_KIND_MERGED = 3 };

/* Who wrote this: unique per recorded process. Ordered field by field. */
struct shard_id {
    uint64_t host_hash;     /* of the host name */
    uint64_t boot_id[2];    /* /proc/sys/kernel/random/boot_id */
    uint64_t start_unix_ns; /* when recording began */
    uint32_t pid;
    uint32_t part; /* 0; 1, 2, ... when one process wrote several files */
};

enum {
    TRACE_VERSION = 1,
    TRACE_TICK_NS = 100,            /* default tick of event times */
    TRACE_FRAME_RAW_MAX = 1 << 20,  /* bytes of a frame before compression, at most */
    TRACE_SIGNATURES_MAX = 1 << 20, /* distinct signatures in one file, at most */
    TRACE_STRINGS_MAX = 1 << 20,
    TRACE_STRING_BYTES_MAX = 4096,
    TRACE_STRINGS_BYTES_MAX = 32 << 20, /* of all strings together */
    TRACE_FACTS_MAX = 4096,
    TRACE_THREADS_MAX = 1 << 16,
    TRACE_SHARDS_MAX = 1 << 16,

    /* Of one frame. */
    TRACE_FRAME_STORED_MAX = (1 << 20) + 8192,
    TRACE_FRAME_EVENTS_MAX = 1 << 20,
    TRACE_FRAME_RUNS_MAX = 4096, /* EVENTS sections */
    TRACE_FRAME_COUNTS_MAX = 8192,
    TRACE_FRAME_KERNELS_MAX = 8192,
    TRACE_FRAME_WINDOWS_MAX = 4096,
    TRACE_FRAME_PHASES_MAX = 4096,
    TRACE_FRAME_MARKS_MAX = 8192,
    TRACE_FRAME_INTERVALS_MAX = 1 << 17, /* of GPU streams */
};

#define TRACE_SEQUENCE_MAX (UINT64_C(1) << 48)
#define TRACE_TIME_MAX_NS  (UINT64_C(1) << 62)

enum trace_section {
    SECTION_STRINGS = 1,
    SECTION_SIGNATURES = 2,
    SECTION_FACTS = 3,
    SECTION_EVENTS = 4,
    SECTION_COUNTS = 5,
    SECTION_GPU_KERNELS = 6,
    SECTION_GPU_WINDOWS = 7,
    SECTION_GPU_TOTALS = 8,
    SECTION_PHASES = 10,
    SECTION_GPU_INTERVALS = 9,
    SECTION_GPU_GRIDS = 11,
    SECTION_RESULT_RUN = 64,
    SECTION_RESULT_CEILING = 65,
    SECTION_RESULT_CASE = 66,
    SECTION_RESULT_ORDER = 67,
    SECTION_RESULT_ORDER_PART = 68,
    SECTION_RESULT_VERDICT = 69,
    SECTION_BLOB_FIRST = 64, /* 64 to 127 are handed to the caller as they are */
    SECTION_BLOB_LAST = 127,
};

enum trace_frame_flag {
    FRAME_KEY = 1,    /* a complete dictionary starts here */
    FRAME_FOOTER = 2, /* a clean end */
    FRAME_INCOMPATIBLE = 0xff00,
};

enum trace_events_flag { EVENTS_ZIGZAG = 1, EVENTS_UNTIMED = 2 };

enum trace_source_flag { SOURCE_WORK = 3, SOURCE_IN_GRAPH = 4, SOURCE_IS_FIRST = 8 };

#endif
