/* SPDX-License-Identifier: Apache-2.0 */
#include "tracer/kernels.h"

#include <sched.h>
#include <string.h>
#include <sys/mman.h>

#include "tracer/pages.h"

enum {
    ROWS = 1 << 15, /* places of each table; half of them are used at most */
    NAMES = 1 << 14,
    TEXT_BYTES = 4 << 20,
    NAME_BYTES = 4095,
    INTERVALS = 1 << 16,
};

struct row {
    uint32_t name, op; /* name: index + 1, 0 = a free place */
    uint64_t launches, calls, measured, sum_ns, min_ns, max_ns; /* not yet written */
};

struct name {
    uint64_t hash; /* 0: a free place */
    uint32_t text, writer_id;
};

struct interval {
    uint64_t start, end;
};

static _Atomic bool locked, pending;

/* Below: under the lock. */
static struct book {
    struct row row[ROWS];
    struct name name[NAMES];
    char text[TEXT_BYTES];
    struct interval interval[INTERVALS];
    uint32_t used_rows, used_names, used_bytes, intervals;
    uint64_t busy_ns, untimed;
} * book;

static void lock(void)
{
    while (atomic_exchange_explicit(&locked, true, memory_order_acquire))
        sched_yield();
}

static void unlock(void)
{
    atomic_store_explicit(&locked, false, memory_order_release);
}

bool kernels_start(void)
{
    if (!book)
        book = pages_map(sizeof *book);
    if (!book)
        return false;
    book->used_bytes = 1; /* text 0 is the empty name */
    return true;
}

static uint64_t hash_of(const char *text, size_t bytes)
{
    uint64_t hash = 0xcbf29ce484222325u ^ bytes, word;
    for (; bytes >= sizeof word; text += sizeof word, bytes -= sizeof word) {
        memcpy(&word, text, sizeof word);
        hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
        hash ^= hash >> 29;
    }
    for (; bytes; text++, bytes--)
        hash = (hash ^ (unsigned char)*text) * 0x100000001b3u;
    return hash ? hash : 1;
}

static bool take_text(struct name *n, const char *text, size_t bytes)
{
    if (book->used_names >= NAMES / 2 || book->used_bytes + bytes + 1 > TEXT_BYTES)
        return false;
    n->text = book->used_bytes;
    memcpy(book->text + n->text, text, bytes);
    book->used_bytes += (uint32_t)bytes + 1;
    book->used_names++;
    return true;
}

/* Index of a name; 0, which nothing else has, when there is no room. */
static uint32_t name_of(const char *text)
{
    size_t bytes = strnlen(text, NAME_BYTES);
    uint64_t hash = hash_of(text, bytes);
    uint32_t at = 1 + (uint32_t)(hash >> 20) % (NAMES - 1);
    for (; book->name[at].hash; at = 1 + at % (NAMES - 1))
        if (book->name[at].hash == hash &&
            strncmp(book->text + book->name[at].text, text, bytes) == 0)
            return at;
    if (!take_text(&book->name[at], text, bytes))
        return 0;
    book->name[at].hash = hash;
    return at;
}

/* The row of a name and an op. Where the table is full, the one without either: it is made first.
 */
static struct row *row_of(uint32_t name, uint32_t op)
{
    uint64_t key = ((uint64_t)name << 32 | op) * 0x9e3779b97f4a7c15u;
    uint32_t at = (uint32_t)(key >> 32) % ROWS;
    for (; book->row[at].name; at = (at + 1) % ROWS)
        if (book->row[at].name == name + 1 && book->row[at].op == op)
            return &book->row[at];
    if (book->used_rows >= ROWS / 2 && (name || op))
        return row_of(0, 0);
    book->used_rows++;
    book->row[at] = (struct row){ .name = name + 1, .op = op };
    return &book->row[at];
}

static void sift(struct interval *heap, size_t root, size_t count)
{
    for (size_t child; (child = 2 * root + 1) < count; root = child) {
        if (child + 1 < count && heap[child].start < heap[child + 1].start)
            child++;
        if (heap[root].start >= heap[child].start)
            return;
        struct interval moved = heap[root];
        heap[root] = heap[child];
        heap[child] = moved;
    }
}

/* In place and without the host's heap, which qsort would use. */
static void sort(struct interval *all, size_t count)
{
    for (size_t i = count / 2; i-- > 0;)
        sift(all, i, count);
    for (size_t i = count; i-- > 1;) {
        struct interval largest = all[0];
        all[0] = all[i];
        all[i] = largest;
        sift(all, 0, i);
    }
}

static void fold_intervals(void)
{
    uint64_t end = 0;
    sort(book->interval, book->intervals);
    for (uint32_t i = 0; i < book->intervals; i++) {
        const struct interval *v = &book->interval[i];
        uint64_t from = v->start > end ? v->start : end;
        book->busy_ns += v->end > from ? v->end - from : 0;
        end = v->end > end ? v->end : end;
    }
    book->intervals = 0;
}

static void add_time(struct row *row, const struct kernels_record *r)
{
    uint64_t ns = r->end_ns - r->start_ns;
    row->min_ns = row->measured == 0 || ns < row->min_ns ? ns : row->min_ns;
    row->max_ns = ns > row->max_ns ? ns : row->max_ns;
    row->sum_ns += ns;
    row->measured++;
    row->calls += r->call.op && r->call.is_first;
    if (book->intervals == INTERVALS)
        fold_intervals();
    book->interval[book->intervals++] = (struct interval){ r->start_ns, r->end_ns };
}

void kernels_add(const struct kernels_record *r)
{
    lock();
    if (book) {
        struct row *row = row_of(r->name ? name_of(r->name) : 0, r->call.op);
        row->launches++;
        if (r->start_ns && r->end_ns >= r->start_ns)
            add_time(row, r);
        else
            book->untimed++;
    }
    unlock();
    atomic_store_explicit(&pending, true, memory_order_relaxed);
}

uint64_t kernels_take_busy_ns(void)
{
    lock();
    if (book)
        fold_intervals();
    uint64_t busy_ns = book ? book->busy_ns : 0;
    if (book)
        book->busy_ns = 0;
    unlock();
    return busy_ns;
}

uint64_t kernels_untimed(void)
{
    lock();
    uint64_t untimed = book ? book->untimed : 0;
    unlock();
    return untimed;
}

static uint32_t writer_name(struct drain *d, uint32_t index)
{
    struct name *n = &book->name[index];
    const char *text = book->text + n->text;
    if (index && n->writer_id == 0 &&
        writer_string(d->w, text, strlen(text), &n->writer_id) != ST_OK)
        n->writer_id = 0;
    return n->writer_id;
}

/* False: the frame is full. */
static bool write_row(struct drain *d, struct row *row)
{
    struct gpu_kernel k = { .name = writer_name(d, row->name - 1),
                            .signature = GPU_NO_SIGNATURE,
                            .launches = row->launches,
                            .calls = row->calls,
                            .measured = row->measured,
                            .sum_ns = row->sum_ns,
                            .min_ns = row->min_ns,
                            .max_ns = row->max_ns };
    if (row->op)
        k.signature = drain_signature(d, launches_ops(), row->op - 1);
    if (k.signature == GPU_NO_SIGNATURE)
        k.calls = 0;
    if (writer_gpu_kernel(d->w, &k) == ST_LIMIT)
        return false;
    *row = (struct row){ .name = row->name, .op = row->op };
    return true;
}

void kernels_write(struct drain *d)
{
    if (!atomic_exchange(&pending, false))
        return;
    lock();
    for (uint32_t i = 0; book && i < ROWS; i++)
        if (book->row[i].launches && !write_row(d, &book->row[i])) {
            atomic_store(&pending, true);
            break;
        }
    unlock();
}

bool kernels_are_pending(void)
{
    return atomic_load_explicit(&pending, memory_order_relaxed);
}

void kernels_forget(void)
{
    if (book)
        munmap(book, sizeof *book);
    book = NULL;
    atomic_store(&pending, false);
    atomic_store(&locked, false);
}
