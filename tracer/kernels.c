/* SPDX-License-Identifier: Apache-2.0 */
#include "tracer/kernels.h"

#include <sched.h>
#include <string.h>
#include <sys/mman.h>

#include "tracer/pages.h"
#include "tracer/spans.h"
#include "traces/fnv.h"

enum {
    ROWS = 1 << 15, /* places of each table; half of them are used at most */
    NAMES = 1 << 14,
    GRIDS = 1 << 14,
    TEXT_BYTES = 4 << 20,
    NAME_BYTES = 4095,
};

struct row {
    uint32_t name, op, grid; /* name: index + 1, 0 = a free place */
    uint64_t launches, calls, measured, sum_ns, min_ns, max_ns; /* not yet written */
};

struct name {
    uint64_t hash; /* 0: a free place */
    uint32_t text, writer_id;
};

static _Atomic bool locked, pending;
static _Atomic uint64_t trusted_ns = UINT64_MAX;

/* Below: under the lock. */
static struct book {
    struct row row[ROWS];
    struct name name[NAMES];
    char text[TEXT_BYTES];
    struct gpu_grid grid[GRIDS]; /* all zero: a free place; 0 is the unknown one */
    uint32_t used_rows, used_names, used_bytes, used_grids;
    uint64_t untimed;
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
    if (!book || !spans_start())
        return false;
    book->used_bytes = 1; /* text 0 is the empty name */
    return true;
}

static uint64_t hash_of(const char *text, size_t bytes)
{
    uint64_t hash = FNV_START ^ bytes, word;
    for (; bytes >= sizeof word; text += sizeof word, bytes -= sizeof word) {
        memcpy(&word, text, sizeof word);
        hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
        hash ^= hash >> 29;
    }
    hash = fnv_bytes(hash, text, bytes);
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

/* Index of a grid; 0 when it is unknown or there is no room. */
static uint32_t grid_of(const struct gpu_grid *g)
{
    static const struct gpu_grid none;
    if (memcmp(g, &none, sizeof none) == 0)
        return 0;
    uint64_t hash = hash_of((const char *)g, sizeof *g);
    uint32_t at = 1 + (uint32_t)(hash >> 20) % (GRIDS - 1);
    for (; memcmp(&book->grid[at], &none, sizeof none) != 0; at = 1 + at % (GRIDS - 1))
        if (memcmp(&book->grid[at], g, sizeof *g) == 0)
            return at;
    if (book->used_grids >= GRIDS / 2)
        return 0;
    book->used_grids++;
    book->grid[at] = *g;
    return at;
}

/* The row of a name, an op and a grid. Grids may be many where shapes are: when half of the rows
 * are used up, new ones have none. Where the table is full: the one without anything. */
static struct row *row_of(uint32_t name, uint32_t op, uint32_t grid)
{
    uint64_t key = ((uint64_t)name << 32 | op) * 0x9e3779b97f4a7c15u + grid;
    uint32_t at = (uint32_t)(key * 0x9e3779b97f4a7c15u >> 32) % ROWS;
    for (; book->row[at].name; at = (at + 1) % ROWS)
        if (book->row[at].name == name + 1 && book->row[at].op == op && book->row[at].grid == grid)
            return &book->row[at];
    if (book->used_rows >= ROWS / 4 && grid)
        return row_of(name, op, 0);
    if (book->used_rows >= ROWS / 2 && (name || op))
        return row_of(0, 0, 0);
    book->used_rows++;
    book->row[at] = (struct row){ .name = name + 1, .op = op, .grid = grid };
    return &book->row[at];
}

void kernels_trust_until(uint64_t cupti_ns)
{
    atomic_store_explicit(&trusted_ns, cupti_ns ? cupti_ns : UINT64_MAX, memory_order_relaxed);
}

static bool is_timed(const struct kernels_record *r)
{
    if (r->in_graph && r->end_ns > atomic_load_explicit(&trusted_ns, memory_order_relaxed))
        return false;
    return r->start_ns && r->end_ns >= r->start_ns;
}

static void count_kernel(uint32_t name, const struct kernels_record *r)
{
    struct row *row = row_of(name, r->call.op, grid_of(&r->grid));
    uint64_t ns = r->end_ns - r->start_ns;
    row->launches++;
    if (!is_timed(r)) {
        book->untimed++;
        return;
    }
    row->min_ns = row->measured == 0 || ns < row->min_ns ? ns : row->min_ns;
    row->max_ns = ns > row->max_ns ? ns : row->max_ns;
    row->sum_ns += ns;
    row->measured++;
    row->calls += r->call.op && r->call.is_first;
}

void kernels_add(const struct kernels_record *r)
{
    lock();
    if (book) {
        uint32_t name = r->name ? name_of(r->name) : 0;
        bool timed = is_timed(r);
        if (r->work == GPU_KERNEL)
            count_kernel(name, r);
        spans_add(&(struct spans_record){ .start_ns = timed ? r->start_ns : 0,
                                          .end_ns = timed ? r->end_ns : 0,
                                          .launch_ticks = r->call.launch_ticks,
                                          .name = name,
                                          .op = r->call.op,
                                          .device = r->device,
                                          .context = r->context,
                                          .stream = r->stream,
                                          .work = r->work,
                                          .in_graph = r->in_graph,
                                          .is_first = r->call.is_first });
    }
    unlock();
    atomic_store_explicit(&pending, true, memory_order_relaxed);
}

uint64_t kernels_close_window(uint64_t window_ns, const struct spans_anchor *begin,
                              const struct spans_anchor *end)
{
    lock();
    spans_cut(window_ns);
    unlock();
    return spans_close(begin, end);
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
                            .max_ns = row->max_ns,
                            .grid = book->grid[row->grid] };
    struct launches_place op = row->op ? launches_place(row->op) : (struct launches_place){ 0 };
    if (op.thread)
        k.signature = drain_signature(d, op.thread, op.entry);
    if (k.signature == GPU_NO_SIGNATURE)
        k.calls = 0;
    if (writer_gpu_kernel(d->w, &k) == ST_LIMIT)
        return false;
    *row = (struct row){ .name = row->name, .op = row->op, .grid = row->grid };
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

/* Names are never taken back, so one that a span bears is there. */
static uint32_t span_name(struct drain *d, uint32_t name)
{
    lock();
    uint32_t id = book ? writer_name(d, name) : 0;
    unlock();
    return id;
}

bool kernels_write_window(struct drain *d, uint64_t window_ns)
{
    if (!spans_write(d, window_ns, span_name))
        return false;
    lock();
    spans_pack();
    unlock();
    return true;
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
    spans_forget();
    atomic_store(&pending, false);
    atomic_store(&locked, false);
}
