/* SPDX-License-Identifier: Apache-2.0 */
#include "traces/writer.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

/* A compressor in memory of our own: the host's heap is not touched. */
#define ZSTD_STATIC_LINKING_ONLY
#include <zstd.h>

#include "traces/buffer.h"
#include "traces/crc32c.h"
#include "traces/definitions.h"
#include "traces/frame.h"
#include "traces/rows.h"

enum {
    LEVEL = 5,
    WINDOW_LOG = 20,
    /* A dictionary is repeated after this many times its own size, so it costs about 3 %. */
    DICTIONARY_SPACING = 32,
};

struct writer {
    int fd;
    struct writer_options options;
    uint64_t file_bytes, sequence, end_ns;
    uint64_t dictionary_bytes, since_dictionary_bytes;
    struct trace_counters counters; /* as they stand in the file */
    bool full;                      /* the size cap was reached */
    struct definitions definitions;
    struct rows rows;
    struct buffer raw, frame; /* frame: header and payload, written at once */
    void *workspace;
    size_t workspace_bytes;
    ZSTD_CCtx *cctx;
};

static void *map(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

/* Cut the file back to the last good frame, so that the next one follows it. errno stays. */
static void undo_write(struct writer *w)
{
    int why = errno;
    if (ftruncate(w->fd, (off_t)w->file_bytes) == 0) {
        lseek(w->fd, (off_t)w->file_bytes, SEEK_SET);
    } else {
        /* The torn frame stays; the next one follows it, and readers skip what is between. */
        off_t at = lseek(w->fd, 0, SEEK_CUR);
        w->file_bytes = at < 0 ? w->file_bytes : (uint64_t)at;
    }
    errno = why;
}

static enum status write_all(struct writer *w, const uint8_t *bytes, size_t count)
{
    for (size_t done = 0; done < count;) {
        ssize_t n = write(w->fd, bytes + done, count - done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            if (n == 0)
                errno = ENOSPC;
            undo_write(w);
            return ST_IO;
        }
        done += (size_t)n;
    }
    w->file_bytes += count;
    return ST_OK;
}

static enum status open_compressor(struct writer *w)
{
    int level = w->options.level ? w->options.level : LEVEL;
    w->workspace_bytes = ZSTD_estimateCCtxSize(level);
    w->workspace = map(w->workspace_bytes);
    if (!w->workspace)
        return ST_NOMEM;
    w->cctx = ZSTD_initStaticCCtx(w->workspace, w->workspace_bytes);
    if (!w->cctx)
        return ST_NOMEM;
    /* A static context starts from zeros, not from the defaults. */
    ZSTD_CCtx_reset(w->cctx, ZSTD_reset_session_and_parameters);
    ZSTD_CCtx_setParameter(w->cctx, ZSTD_c_compressionLevel, level);
    ZSTD_CCtx_setParameter(w->cctx, ZSTD_c_contentSizeFlag, 1);
    ZSTD_CCtx_setParameter(w->cctx, ZSTD_c_windowLog, WINDOW_LOG);
    ZSTD_CCtx_setParameter(w->cctx, ZSTD_c_checksumFlag, 1);
    return ST_OK;
}

static enum status write_file_header(struct writer *w)
{
    uint8_t header[FRAME_FILE_HEADER_BYTES];
    frame_encode_file_header(header, &(struct file_header){
                                         .kind = w->options.kind,
                                         .tick_ns = w->options.tick_ns,
                                         .shard = w->options.shard,
                                         .start_mono_ns = w->options.start_mono_ns,
                                     });
    return write_all(w, header, sizeof header);
}

static enum status open_parts(struct writer *w)
{
    enum status st = open_compressor(w);
    if (st == ST_OK)
        st = definitions_init(&w->definitions);
    if (st == ST_OK && (!buffer_reserve(&w->raw, TRACE_FRAME_RAW_MAX) ||
                        !buffer_reserve(&w->frame, FRAME_HEADER_BYTES + TRACE_FRAME_STORED_MAX)))
        st = ST_NOMEM;
    return st == ST_OK ? write_file_header(w) : st;
}

enum status writer_open(struct writer **out, int fd, const struct writer_options *options)
{
    *out = NULL;
    struct writer *w = map(sizeof *w);
    if (!w) {
        close(fd);
        return ST_NOMEM;
    }
    w->fd = fd;
    w->options = *options;
    if (w->options.tick_ns == 0)
        w->options.tick_ns = TRACE_TICK_NS;
    w->rows.tick_ns = w->options.tick_ns;
    w->rows.untimed = w->options.untimed;
    enum status st = open_parts(w);
    if (st != ST_OK) {
        writer_abandon(w);
        return st;
    }
    *out = w;
    return ST_OK;
}

enum status writer_string(struct writer *w, const char *text, size_t bytes, uint32_t *id)
{
    return definitions_string(&w->definitions, text, bytes, id);
}

enum status writer_signature(struct writer *w, const struct tilewise_signature *s, uint32_t *id)
{
    return definitions_signature(&w->definitions, s, id);
}

enum status writer_fact(struct writer *w, const char *key, const char *value)
{
    return definitions_fact(&w->definitions, key, value);
}

enum status writer_events(struct writer *w, uint32_t thread, uint32_t stream,
                          const struct writer_event *events, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (events[i].signature >= w->definitions.signatures.count)
            return ST_INVALID;
    return rows_add_events(&w->rows, thread, stream, events, count);
}

enum status writer_count(struct writer *w, uint32_t signature, const struct writer_count *count)
{
    if (signature >= w->definitions.signatures.count)
        return ST_INVALID;
    return rows_add_count(&w->rows, signature, count);
}

static bool is_defined(const struct writer *w, uint32_t name, uint32_t signature)
{
    return name < w->definitions.strings.count &&
           (signature == GPU_NO_SIGNATURE || signature < w->definitions.signatures.count);
}

enum status writer_gpu_kernel(struct writer *w, const struct gpu_kernel *kernel)
{
    return is_defined(w, kernel->name, kernel->signature) ? rows_add_gpu_kernel(&w->rows, kernel)
                                                          : ST_INVALID;
}

enum status writer_gpu_window(struct writer *w, const struct gpu_window *window)
{
    return rows_add_gpu_window(&w->rows, window);
}

enum status writer_gpu_intervals(struct writer *w, const struct gpu_intervals *g)
{
    for (size_t i = 0; i < g->nsources && i < GPU_SOURCES_MAX; i++)
        if (!is_defined(w, g->sources[i].name, g->sources[i].signature))
            return ST_INVALID;
    return rows_add_gpu_intervals(&w->rows, g);
}

enum status writer_gpu_totals(struct writer *w, const struct gpu_totals *totals)
{
    return rows_set_gpu_totals(&w->rows, totals);
}

enum status writer_blob(struct writer *w, uint32_t section, const void *bytes, size_t count)
{
    return rows_add_blob(&w->rows, section, bytes, count);
}

size_t writer_pending_bytes(const struct writer *w)
{
    return rows_bytes(&w->rows);
}

/* Compress `raw` behind the room for the header. */
static enum status compress(struct writer *w, struct frame_header *h)
{
    h->raw_bytes = (uint32_t)w->raw.size;
    if (h->raw_bytes == 0)
        return ST_OK;
    size_t stored = ZSTD_compress2(w->cctx, w->frame.bytes + FRAME_HEADER_BYTES,
                                   TRACE_FRAME_STORED_MAX, w->raw.bytes, w->raw.size);
    if (ZSTD_isError(stored))
        return ST_NOMEM;
    h->stored_bytes = (uint32_t)stored;
    h->payload_crc = crc32c(w->frame.bytes + FRAME_HEADER_BYTES, stored);
    return ST_OK;
}

/* Write what is in `raw` as one frame. */
static enum status put_frame(struct writer *w, uint32_t flags,
                             const struct trace_counters *counters, uint64_t now_ns)
{
    struct frame_header h = {
        .flags = flags,
        .sequence = w->sequence,
        .begin_ns = w->end_ns,
        .end_ns = now_ns > w->end_ns ? now_ns : w->end_ns,
        .shard = w->options.shard,
        .start_mono_ns = w->options.start_mono_ns,
        .tick_ns = w->options.tick_ns,
        .kind = w->options.kind,
        .counters = *counters,
    };
    enum status st = compress(w, &h);
    if (st != ST_OK)
        return st;
    size_t bytes = FRAME_HEADER_BYTES + h.stored_bytes;
    /* The footer always fits: every other frame leaves room for it. */
    size_t reserve = flags & FRAME_FOOTER ? 0 : FRAME_HEADER_BYTES;
    uint64_t cap = w->options.size_cap_bytes;
    if (cap && w->file_bytes + bytes + reserve > cap)
        return ST_LIMIT;
    frame_encode(w->frame.bytes, &h);
    st = write_all(w, w->frame.bytes, bytes);
    if (st != ST_OK)
        return st;
    w->sequence++;
    w->end_ns = h.end_ns;
    w->counters = h.counters;
    w->since_dictionary_bytes += bytes;
    return ST_OK;
}

/* A frame of nothing but definitions, as many as fit from `at` on; `at` stays on failure. It
 * carries the counters as they stand: its rows are still to come. */
static enum status put_definitions(struct writer *w, struct definitions_cursor *at, uint32_t flags,
                                   bool *complete)
{
    struct definitions_cursor next = *at;
    w->raw.size = 0;
    *complete = definitions_encode(&w->definitions, &next, &w->raw, TRACE_FRAME_RAW_MAX);
    enum status st = put_frame(w, flags, &w->counters, w->end_ns);
    if (st == ST_OK)
        *at = next;
    return st;
}

static enum status put_dictionary(struct writer *w)
{
    struct definitions_cursor at = definitions_start();
    uint64_t start = w->file_bytes;
    bool complete = false;
    for (uint32_t flags = FRAME_KEY; !complete; flags = 0) {
        enum status st = put_definitions(w, &at, flags, &complete);
        if (st != ST_OK)
            return st;
    }
    w->definitions.written = at;
    w->dictionary_bytes = w->file_bytes - start;
    w->since_dictionary_bytes = 0;
    return ST_OK;
}

static bool dictionary_is_due(const struct writer *w)
{
    return !definitions_is_empty(&w->definitions) &&
           w->since_dictionary_bytes >= DICTIONARY_SPACING * w->dictionary_bytes;
}

static enum status flush(struct writer *w, const struct trace_counters *counters, uint64_t now_ns)
{
    if (w->full)
        return ST_LIMIT;
    if (dictionary_is_due(w)) {
        enum status st = put_dictionary(w);
        if (st != ST_OK)
            return st;
    }
    size_t limit = TRACE_FRAME_RAW_MAX - rows_bytes(&w->rows);
    struct definitions_cursor next;
    for (bool complete;;) {
        next = w->definitions.written;
        w->raw.size = 0;
        if (definitions_encode(&w->definitions, &next, &w->raw, limit))
            break;
        enum status st = put_definitions(w, &w->definitions.written, 0, &complete);
        if (st != ST_OK)
            return st;
    }
    rows_encode(&w->rows, &w->raw);
    enum status st = put_frame(w, w->sequence ? 0 : FRAME_KEY, counters, now_ns);
    if (st == ST_OK)
        w->definitions.written = next;
    return st;
}

enum status writer_flush(struct writer *w, const struct trace_counters *counters, uint64_t now_ns)
{
    enum status st = flush(w, counters, now_ns);
    rows_clear(&w->rows);
    if (st == ST_LIMIT)
        w->full = true;
    return st;
}

void writer_abandon(struct writer *w)
{
    if (!w)
        return;
    int why = errno;
    close(w->fd);
    definitions_free(&w->definitions);
    rows_free(&w->rows);
    buffer_free(&w->raw);
    buffer_free(&w->frame);
    if (w->workspace)
        munmap(w->workspace, w->workspace_bytes);
    munmap(w, sizeof *w);
    errno = why;
}

enum status writer_close(struct writer *w, const struct trace_counters *counters, uint64_t now_ns)
{
    if (!w)
        return ST_OK;
    enum status st = ST_OK;
    if (rows_bytes(&w->rows) || (!w->full && definitions_are_pending(&w->definitions)))
        st = writer_flush(w, counters, now_ns);
    if (st == ST_OK) {
        w->raw.size = 0;
        st = put_frame(w, FRAME_FOOTER, counters, now_ns);
    }
    writer_abandon(w);
    return st;
}

uint64_t writer_file_bytes(const struct writer *w)
{
    return w->file_bytes;
}
