/* SPDX-License-Identifier: Apache-2.0 */
#include "traces/result.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "traces/reader.h"
#include "traces/resultrow.h"
#include "traces/scan.h"
#include "traces/shard.h"
#include "traces/writer.h"

const char *result_status_name(unsigned status)
{
    static const char *const names[] = {
        [RESULT_NOT_VERIFIED] = "not-verified",
        [RESULT_PASSED] = "passed",
        [RESULT_FAILED] = "failed",
        [RESULT_UNSUPPORTED] = "unsupported",
        [RESULT_SKIPPED] = "skipped",
        [RESULT_CRASHED] = "crashed",
        [RESULT_TIMEOUT] = "timeout",
    };
    return status < sizeof names / sizeof *names ? names[status] : "unknown";
}

const char *result_call_name(unsigned call)
{
    static const char *const names[] = { "-", "FASTER", "SAME", "SLOWER", "UNCLEAR" };
    return call < sizeof names / sizeof *names ? names[call] : "-";
}

struct result_writer {
    struct writer *writer;
    uint64_t start_mono_ns;
    struct buffer row;
};

static uint64_t now_ns(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

enum status result_create(struct result_writer **out, const char *path, struct fault *fault)
{
    *out = NULL;
    struct result_writer *w = calloc(1, sizeof *w);
    if (!w)
        return fault_set(fault, ST_NOMEM, "%s: out of memory", path);
    /* A new file of our own mode, never somebody's old one behind a link. */
    unlink(path);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0) {
        free(w);
        return fault_set(fault, ST_IO, "%s: cannot be created: %s", path, strerror(errno));
    }
    w->start_mono_ns = now_ns(CLOCK_MONOTONIC);
    struct writer_options options = { .kind = TRACE_KIND_RESULT,
                                      .start_mono_ns = w->start_mono_ns };
    shard_of_this_process(&options.shard);
    enum status st = writer_open(&w->writer, fd, &options);
    if (st != ST_OK) {
        fault_set(fault, st, "%s: cannot be written: %s", path, strerror(errno));
        unlink(path);
        free(w);
        return st;
    }
    *out = w;
    return ST_OK;
}

static enum status put(struct result_writer *w, uint32_t section,
                       const struct resultrow_field *fields, const void *row)
{
    static const struct trace_counters none;
    w->row.size = 0;
    enum status st = resultrow_put(&w->row, fields, row);
    if (st == ST_OK)
        st = writer_blob(w->writer, section, w->row.bytes, w->row.size);
    if (st == ST_OK)
        st = writer_flush(w->writer, &none, now_ns(CLOCK_MONOTONIC) - w->start_mono_ns);
    return st;
}

enum status result_put_run(struct result_writer *w, const struct result_run *run)
{
    return put(w, SECTION_RESULT_RUN, resultrow_run, run);
}

enum status result_put_ceiling(struct result_writer *w, const struct result_ceiling *ceiling)
{
    return put(w, SECTION_RESULT_CEILING, resultrow_ceiling, ceiling);
}

enum status result_put_case(struct result_writer *w, const struct result_case *row)
{
    return put(w, SECTION_RESULT_CASE, resultrow_case, row);
}

enum status result_put_order(struct result_writer *w, const struct result_order *row)
{
    return put(w, SECTION_RESULT_ORDER, resultrow_order, row);
}

enum status result_put_order_part(struct result_writer *w, const struct result_order_part *row)
{
    return put(w, SECTION_RESULT_ORDER_PART, resultrow_order_part, row);
}

enum status result_put_verdict(struct result_writer *w, const struct result_verdict *row)
{
    return put(w, SECTION_RESULT_VERDICT, resultrow_verdict, row);
}

enum status result_close(struct result_writer *w)
{
    static const struct trace_counters none;
    if (!w)
        return ST_OK;
    enum status st = writer_close(w->writer, &none, now_ns(CLOCK_MONOTONIC) - w->start_mono_ns);
    buffer_free(&w->row);
    free(w);
    return st;
}

static void free_case(struct result_case *row)
{
    for (size_t i = 0; i < row->ncandidates; i++)
        resultrow_free(resultrow_candidate, &row->candidates[i]);
    free(row->candidates);
    resultrow_free(resultrow_case, row);
}

/* A zeroed row behind the `count` rows of `*rows`; it counts only once *count is raised. */
static void *grow(void **rows, size_t count, size_t row_bytes)
{
    void *grown = realloc(*rows, (count + 1) * row_bytes);
    if (!grown)
        return NULL;
    *rows = grown;
    return memset((char *)grown + count * row_bytes, 0, row_bytes);
}

static enum status read_blob(struct result_set *set, const struct reader_blob *blob)
{
    const struct {
        uint32_t section;
        void **rows;
        size_t *count, bytes;
        const struct resultrow_field *fields;
    } kinds[] = {
        { SECTION_RESULT_RUN, (void **)&set->runs, &set->nruns, sizeof *set->runs, resultrow_run },
        { SECTION_RESULT_CEILING, (void **)&set->ceilings, &set->nceilings, sizeof *set->ceilings,
          resultrow_ceiling },
        { SECTION_RESULT_CASE, (void **)&set->cases, &set->ncases, sizeof *set->cases,
          resultrow_case },
        { SECTION_RESULT_ORDER, (void **)&set->orders, &set->norders, sizeof *set->orders,
          resultrow_order },
        { SECTION_RESULT_ORDER_PART, (void **)&set->parts, &set->nparts, sizeof *set->parts,
          resultrow_order_part },
        { SECTION_RESULT_VERDICT, (void **)&set->verdicts, &set->nverdicts, sizeof *set->verdicts,
          resultrow_verdict },
    };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (kinds[i].section != blob->section)
            continue;
        void *row = grow(kinds[i].rows, *kinds[i].count, kinds[i].bytes);
        if (!row)
            return ST_NOMEM;
        (*kinds[i].count)++; /* from here on result_free frees it */
        struct cursor in = { blob->bytes, blob->bytes + blob->count, false };
        enum status st = resultrow_set_unknown(kinds[i].fields, row);
        return st == ST_OK ? resultrow_get(&in, kinds[i].fields, row) : st;
    }
    return ST_OK;
}

static enum status read_frames(struct result_set *set, struct reader *r, const char *path,
                               struct fault *fault)
{
    struct reader_frame frame;
    struct fault inner;
    enum status st;
    while ((st = reader_next(r, &frame, &inner)) == ST_OK)
        for (size_t i = 0; i < frame.nblobs; i++) {
            st = read_blob(set, &frame.blobs[i]);
            if (st != ST_OK)
                return fault_set(fault, st, "%s: frame %llu: %s", path,
                                 (unsigned long long)frame.sequence,
                                 st == ST_NOMEM ? "out of memory" : "malformed result row");
        }
    size_t damaged;
    reader_damage(r, &damaged);
    set->ndamage += damaged;
    return st == ST_END ? ST_OK : fault_set(fault, st, "%s: %s", path, inner.text);
}

enum status result_read(struct result_set *set, const char *path, struct fault *fault)
{
    struct reader *r;
    enum status st = reader_open(&r, path, fault);
    if (st != ST_OK)
        return st;
    if (reader_kind(r) == TRACE_KIND_RECORDED)
        st = fault_set(fault, ST_FORMAT, "%s: a trace, not a replay result (.twr)", path);
    else
        st = read_frames(set, r, path, fault);
    reader_close(r);
    return st;
}

void result_free(struct result_set *set)
{
    for (size_t i = 0; i < set->nruns; i++)
        resultrow_free(resultrow_run, &set->runs[i]);
    for (size_t i = 0; i < set->ncases; i++)
        free_case(&set->cases[i]);
    for (size_t i = 0; i < set->norders; i++)
        resultrow_free(resultrow_order, &set->orders[i]);
    for (size_t i = 0; i < set->nparts; i++)
        resultrow_free(resultrow_order_part, &set->parts[i]);
    free(set->orders);
    free(set->parts);
    for (size_t i = 0; i < set->nverdicts; i++)
        resultrow_free(resultrow_verdict, &set->verdicts[i]);
    free(set->runs);
    free(set->ceilings);
    free(set->cases);
    free(set->verdicts);
    *set = (struct result_set){ 0 };
}

bool result_is_result_file(const char *path)
{
    return scan_kind(path) == TRACE_KIND_RESULT;
}
