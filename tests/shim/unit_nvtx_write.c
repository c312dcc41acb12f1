/* SPDX-License-Identifier: Apache-2.0
 *
 * Phases on their way into a frame, while the writer has no memory for them.
 */
#include <criterion/criterion.h>

#define writer_blob   fake_blob
#define writer_string fake_string
/* The shim is no library that a test could link. */
#include "tracer/nvtx_write.c"

struct config config = { .nvtx = true };
struct nvtx_name nvtx_range_phases[NVTX_PHASES], nvtx_range_marks[NVTX_MARKS],
    nvtx_range_ops[NVTX_OPS];

static struct nvtx_notes notes;
static enum status blob_status;
static struct cursor written; /* what fake_blob was given last with success */
static uint8_t written_bytes[4096];
static unsigned blobs;

unsigned nvtx_range_threads(void)
{
    return 1;
}

struct nvtx_notes *nvtx_range_notes(unsigned i)
{
    (void)i;
    return &notes;
}

uint32_t drain_signature(struct drain *d, struct thread *t, uint32_t entry)
{
    (void)d, (void)t;
    return entry;
}

enum status fake_string(struct writer *w, const char *text, size_t bytes, uint32_t *id)
{
    (void)w, (void)text, (void)bytes;
    *id = 5;
    return ST_OK;
}

enum status fake_blob(struct writer *w, uint32_t kind, const void *bytes, size_t count)
{
    (void)w, (void)kind;
    if (blob_status != ST_OK)
        return blob_status;
    cr_assert_lt(count, sizeof written_bytes);
    memcpy(written_bytes, bytes, count);
    written = (struct cursor){ written_bytes, written_bytes + count, false };
    blobs++;
    return ST_OK;
}

static void note(uint64_t entries, uint64_t lost)
{
    unsigned number = nvtx_names_number(nvtx_range_phases, NVTX_PHASES, "step", 4);
    notes.total[number].entries += entries;
    notes.total[number].ended += entries;
    notes.total[number].sum_ns += entries * 100;
    notes.lost += lost;
}

/* The section says so many entries and losses, and nothing more. */
static void expect(uint64_t entries, uint64_t lost)
{
    struct phase_total total;
    cr_assert_eq(cursor_varint(&written), lost);
    cr_assert_eq(phasecode_get_count(&written, 10), 1);
    cr_assert(phasecode_get_total(&written, &total));
    cr_assert_eq(total.entries, entries);
    cr_assert_eq(total.sum_ns, entries * 100);
    cr_assert_eq(phasecode_get_count(&written, 10), 0);
    cr_assert_eq(phasecode_get_count(&written, 10), 0);
}

Test(nvtx_write, what_a_frame_does_not_take_waits_for_the_next)
{
    struct drain d = { 0 };
    note(3, 1);
    cr_assert(nvtx_write_is_dirty());
    blob_status = ST_NOMEM;
    nvtx_write(&d);
    cr_assert(nvtx_write_is_dirty(), "it is not in the file");
    note(4, 2);
    nvtx_write(&d);
    blob_status = ST_OK;
    nvtx_write(&d);
    expect(3, 1);
    cr_assert(nvtx_write_is_dirty());
    nvtx_write(&d);
    expect(4, 2);
    cr_assert(!nvtx_write_is_dirty());
    nvtx_write(&d);
    cr_assert_eq(blobs, 2);
}

Test(nvtx_write, another_file_does_not_get_it)
{
    struct drain d = { 0 };
    note(3, 0);
    blob_status = ST_NOMEM;
    nvtx_write(&d);
    nvtx_write_begin();
    blob_status = ST_OK;
    nvtx_write(&d);
    cr_assert_eq(blobs, 0);
    note(2, 0);
    nvtx_write(&d);
    expect(2, 0);
}
