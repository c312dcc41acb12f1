/* SPDX-License-Identifier: Apache-2.0
 *
 * The output is the set union of all good frames, ordered by shard and sequence and copied byte for
 * byte: whatever the order and the grouping of the inputs, the set is the same, and so are the
 * bytes. Memory: one row per stretch of neighbouring frames, two frames while copying.
 */
#include "traces/merge.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "traces/scan.h"

/* Frames of one shard that stand one behind the other in one input, in order. */
struct run {
    struct shard_id shard;
    size_t input;
    uint64_t first_sequence, last_sequence, offset, end;
    int fd; /* while its shard is copied; shared by the runs of an input */
};

struct merge {
    const char *const *inputs;
    struct buffer runs;
    struct merge_report report;
    int out;
    uint8_t *frame, *rival; /* whole frames; rival: of another copy */
    struct fault *fault;
};

enum { FRAME_BYTES_MAX = FRAME_HEADER_BYTES_MAX + TRACE_FRAME_STORED_MAX };

static enum status out_of_memory(struct merge *m)
{
    return fault_set(m->fault, ST_NOMEM, "out of memory");
}

/* Listing. */

static enum status enter_frame(struct merge *m, size_t input, const struct scan_frame *f)
{
    struct run *last = m->runs.size ? (struct run *)(m->runs.bytes + m->runs.size) - 1 : NULL;
    if (last && last->input == input && last->end == f->offset &&
        f->header.sequence > last->last_sequence &&
        frame_compare_shards(&last->shard, &f->header.shard) == 0) {
        last->last_sequence = f->header.sequence;
        last->end += f->count;
        return ST_OK;
    }
    struct run new = {
        .shard = f->header.shard,
        .input = input,
        .first_sequence = f->header.sequence,
        .last_sequence = f->header.sequence,
        .offset = f->offset,
        .end = f->offset + f->count,
        .fd = -1,
    };
    if (!buffer_reserve(&m->runs, sizeof new))
        return out_of_memory(m);
    buffer_put(&m->runs, &new, sizeof new);
    return ST_OK;
}

static enum status list_input(struct merge *m, size_t input)
{
    struct scan scan;
    struct fault inner;
    enum status st = scan_open(&scan, m->inputs[input], m->fault);
    if (st != ST_OK)
        return st;
    if (scan.header.kind == TRACE_KIND_RESULT) {
        scan_close(&scan);
        return fault_set(m->fault, ST_INVALID,
                         "%s: a replay result (.twr): give it to `report` beside the traces",
                         m->inputs[input]);
    }
    struct scan_frame frame;
    while ((st = scan_next(&scan, &frame, &inner)) == ST_OK) {
        st = enter_frame(m, input, &frame);
        if (st != ST_OK)
            break;
    }
    m->report.damaged += scan.damage.size / sizeof(struct reader_damage);
    scan_close(&scan);
    if (st == ST_END)
        return ST_OK;
    return st == ST_NOMEM ? out_of_memory(m)
                          : fault_set(m->fault, st, "%s: %s", m->inputs[input], inner.text);
}

static int compare_runs(const void *left, const void *right)
{
    const struct run *a = left, *b = right;
    int order = frame_compare_shards(&a->shard, &b->shard);
    if (order)
        return order;
    if (a->first_sequence != b->first_sequence)
        return a->first_sequence < b->first_sequence ? -1 : 1;
    if (a->input != b->input)
        return a->input < b->input ? -1 : 1;
    return (a->offset > b->offset) - (a->offset < b->offset);
}

/* Copying. */

static enum status write_out(struct merge *m, const uint8_t *bytes, size_t count)
{
    for (size_t done = 0; done < count;) {
        ssize_t n = write(m->out, bytes + done, count - done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return fault_set(m->fault, ST_IO, "cannot be written: %s",
                             strerror(n < 0 ? errno : ENOSPC));
        done += (size_t)n;
    }
    return ST_OK;
}

/* The next frame of a run, whole. The file was checked before: if it is no longer what it was, we
 * stop. */
static enum status load(struct merge *m, const struct run *run, uint8_t *to, struct frame_header *h,
                        size_t *count)
{
    size_t left = run->end - run->offset < FRAME_BYTES_MAX ? (size_t)(run->end - run->offset)
                                                           : FRAME_BYTES_MAX;
    size_t head = left < FRAME_HEADER_BYTES_MAX ? left : FRAME_HEADER_BYTES_MAX;
    ssize_t n = pread(run->fd, to, head, (off_t)run->offset);
    if (n == (ssize_t)head && frame_decode(h, to, head) == FRAME_GOOD) {
        *count = h->header_bytes + (size_t)h->stored_bytes;
        size_t rest = *count > head ? *count - head : 0;
        if (*count <= left &&
            pread(run->fd, to + head, rest, (off_t)(run->offset + head)) == (ssize_t)rest)
            return ST_OK;
    }
    return fault_set(m->fault, ST_IO, "%s: changed while it was read", m->inputs[run->input]);
}

/* Behind the frame of this length; the run's next sequence number, or its end. */
static enum status advance(struct merge *m, struct run *run, size_t count)
{
    run->offset += count;
    if (run->offset == run->end)
        return ST_OK;
    uint8_t head[FRAME_HEADER_BYTES_MAX];
    struct frame_header h;
    size_t want =
        run->end - run->offset < sizeof head ? (size_t)(run->end - run->offset) : sizeof head;
    if (pread(run->fd, head, want, (off_t)run->offset) != (ssize_t)want ||
        frame_decode(&h, head, want) != FRAME_GOOD)
        return fault_set(m->fault, ST_IO, "%s: changed while it was read", m->inputs[run->input]);
    run->first_sequence = h.sequence;
    return ST_OK;
}

static int compare_bytes(const uint8_t *a, size_t a_count, const uint8_t *b, size_t b_count)
{
    int order = memcmp(a, b, a_count < b_count ? a_count : b_count);
    return order ? order : (a_count > b_count) - (a_count < b_count);
}

/* The frame with this sequence number, from whichever run has it; where they differ, the greater
 * bytes. All runs that have it move on. */
static enum status copy_frame(struct merge *m, struct run *runs, size_t active, uint64_t sequence)
{
    size_t best = 0;
    for (size_t i = 0; i < active; i++) {
        if (runs[i].offset == runs[i].end || runs[i].first_sequence != sequence)
            continue;
        struct frame_header h;
        size_t count = 0;
        enum status st = load(m, &runs[i], m->rival, &h, &count);
        if (st == ST_OK)
            st = advance(m, &runs[i], count);
        if (st != ST_OK)
            return st;
        if (best == 0 || compare_bytes(m->rival, count, m->frame, best) > 0) {
            uint8_t *loaded = m->rival;
            m->rival = m->frame;
            m->frame = loaded;
            best = count;
        }
    }
    return write_out(m, m->frame, best);
}

/* Runs are ordered by their first number, which moves on as they are copied; `active` of them were
 * reached, the first `used` of those are used up. */
static enum status copy_runs(struct merge *m, struct run *runs, size_t count)
{
    size_t used = 0, active = 0;
    for (;;) {
        while (used < active && runs[used].offset == runs[used].end)
            used++;
        uint64_t next = UINT64_MAX;
        for (size_t i = used; i < active; i++)
            if (runs[i].offset != runs[i].end && runs[i].first_sequence < next)
                next = runs[i].first_sequence;
        if (next == UINT64_MAX && active == count)
            return ST_OK;
        /* Runs are ordered by their first number: take in those that may have this one too. */
        if (next == UINT64_MAX)
            next = runs[active].first_sequence;
        while (active < count && runs[active].first_sequence <= next)
            active++;
        enum status st = copy_frame(m, runs + used, active - used, next);
        if (st != ST_OK)
            return st;
    }
}

static void close_inputs(struct run *runs, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        int fd = runs[i].fd;
        for (size_t k = i; fd >= 0 && k < count; k++)
            if (runs[k].fd == fd)
                runs[k].fd = -1;
        if (fd >= 0)
            close(fd);
    }
}

/* One descriptor per input that holds this shard. */
static enum status open_inputs(struct merge *m, struct run *runs, size_t count, size_t *copies)
{
    *copies = 0;
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < i && runs[i].fd < 0; k++)
            if (runs[k].input == runs[i].input)
                runs[i].fd = runs[k].fd;
        if (runs[i].fd >= 0)
            continue;
        runs[i].fd = open(m->inputs[runs[i].input], O_RDONLY | O_CLOEXEC);
        if (runs[i].fd < 0)
            return fault_set(m->fault, ST_IO, "%s: %s", m->inputs[runs[i].input], strerror(errno));
        ++*copies;
    }
    return ST_OK;
}

static enum status copy_shard(struct merge *m, struct run *runs, size_t count)
{
    size_t copies;
    enum status st = open_inputs(m, runs, count, &copies);
    if (st == ST_OK)
        st = copy_runs(m, runs, count);
    close_inputs(runs, count);
    m->report.shards++;
    m->report.duplicates += copies ? copies - 1 : 0;
    return st;
}

static enum status copy_all(struct merge *m)
{
    uint8_t header[FRAME_FILE_HEADER_BYTES];
    frame_encode_file_header(header, &(struct file_header){ .kind = TRACE_KIND_MERGED });
    enum status st = write_out(m, header, sizeof header);
    struct run *runs = (struct run *)m->runs.bytes;
    size_t count = m->runs.size / sizeof *runs;
    if (count)
        qsort(runs, count, sizeof *runs, compare_runs);
    for (size_t first = 0, end; st == ST_OK && first < count; first = end) {
        for (end = first + 1; end < count; end++)
            if (frame_compare_shards(&runs[first].shard, &runs[end].shard) != 0)
                break;
        st = copy_shard(m, runs + first, end - first);
    }
    return st;
}

/* Everything into a new file beside the output, which takes its place when it is complete. */
static enum status write_output(struct merge *m, const char *output)
{
    char path[4096];
    struct fault *fault = m->fault, inner = { 0 };
    int length = snprintf(path, sizeof path, "%s.XXXXXX", output);
    if (length < 0 || (size_t)length >= sizeof path)
        return fault_set(fault, ST_INVALID, "%s: the name is too long", output);
    m->out = mkostemp(path, O_CLOEXEC); /* mode 0600 */
    if (m->out < 0)
        return fault_set(fault, ST_IO, "%s: cannot be created: %s", output, strerror(errno));
    m->fault = &inner;
    enum status st = copy_all(m);
    if (st == ST_OK && fsync(m->out) < 0)
        st = fault_set(&inner, ST_IO, "cannot be written: %s", strerror(errno));
    if (close(m->out) < 0 && st == ST_OK)
        st = fault_set(&inner, ST_IO, "cannot be written: %s", strerror(errno));
    if (st == ST_OK && rename(path, output) < 0)
        st = fault_set(&inner, ST_IO, "cannot be put in place: %s", strerror(errno));
    if (st == ST_OK)
        return ST_OK;
    unlink(path);
    return fault_set(fault, st, "%s: %s", output, inner.text);
}

enum status merge_files(const char *output, const char *const *inputs, size_t count,
                        struct merge_report *report, struct fault *fault)
{
    struct merge m = { .inputs = inputs, .fault = fault };
    m.frame = malloc(FRAME_BYTES_MAX);
    m.rival = malloc(FRAME_BYTES_MAX);
    enum status st = m.frame && m.rival ? ST_OK : out_of_memory(&m);
    for (size_t i = 0; st == ST_OK && i < count; i++)
        st = list_input(&m, i);
    if (st == ST_OK)
        st = write_output(&m, output);
    free(m.frame);
    free(m.rival);
    buffer_free(&m.runs);
    if (report)
        *report = m.report;
    return st;
}
