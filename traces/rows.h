/* SPDX-License-Identifier: Apache-2.0
 *
 * What one frame will hold besides definitions: events by thread and stream, counts, blobs; and
 * how many bytes that takes. Zero-initialise. Memory is mapped and kept between frames. One thread.
 */
#ifndef TILEWISE_TRACES_ROWS_H
#define TILEWISE_TRACES_ROWS_H

#include "traces/buffer.h"
#include "traces/writer.h"

struct rows {
    struct buffer events;           /* struct rows_event, in order of arrival */
    struct buffer stretches;        /* struct rows_stretch: which events belong to which run */
    struct buffer runs;             /* struct rows_run: one per thread and stream */
    struct buffer counts;           /* encoded rows */
    struct buffer last;             /* uint32_t per signature: its last duration, while encoding */
    struct buffer blobs;            /* encoded sections */
    struct buffer kernels, windows; /* encoded rows of what was measured of the GPU */
    struct buffer grids;            /* one encoded row for each of `kernels` */
    struct buffer intervals;        /* encoded sections */
    struct gpu_totals totals;
    bool has_totals, has_grids;
    uint32_t nkernels, nwindows, nintervals, ninterval_sections;
    size_t event_bytes; /* of all EVENTS sections, at most */
    uint32_t ncounts, last_run;
    uint32_t tick_ns;
    bool untimed;
};

/* All or nothing. LIMIT: the frame is full. INVALID: a time or thread out of range. */
enum status rows_add_events(struct rows *r, uint32_t thread, uint32_t stream,
                            const struct writer_event *events, size_t count);
enum status rows_add_count(struct rows *r, uint32_t signature, const struct writer_count *count);
enum status rows_add_gpu_kernel(struct rows *r, const struct gpu_kernel *kernel);
enum status rows_add_gpu_window(struct rows *r, const struct gpu_window *window);
enum status rows_add_gpu_intervals(struct rows *r, const struct gpu_intervals *intervals);
enum status rows_set_gpu_totals(struct rows *r, const struct gpu_totals *totals);
enum status rows_add_blob(struct rows *r, uint32_t section, const void *bytes, size_t count);

/* Bytes that rows_encode will append, at most. */
size_t rows_bytes(const struct rows *r);
/* Needs room for rows_bytes. Uses the rows up: rows_clear is next. */
void rows_encode(struct rows *r, struct buffer *out);
void rows_clear(struct rows *r);
void rows_free(struct rows *r);

#endif
