/* SPDX-License-Identifier: Apache-2.0 */
#include "tracer/ledger.h"

#include <stdatomic.h>
#include <string.h>

#include "tracer/kernels.h"
#include "tracer/spans.h"

enum { ROWS = SPANS_WINDOWS }; /* a row for each, and the same rows become one */

static struct gpu_window row[ROWS];
static unsigned rows;
static bool first_is_written; /* of `row`, whose intervals are on their way */
static struct gpu_totals totals;
static _Atomic bool totals_changed;

void ledger_add(const struct gpu_window *w)
{
    totals.launches += w->launches;
    totals.records += w->records;
    totals.dropped += w->dropped;
    totals.busy_ns += w->busy_ns;
    totals.window_ns += w->end_ns - w->begin_ns;
    totals.windows++;
    atomic_store(&totals_changed, true);
    if (rows < ROWS) {
        row[rows++] = *w;
        return;
    }
    struct gpu_window *last = &row[ROWS - 1]; /* nobody wrote for long: one longer window */
    last->end_ns = w->end_ns;
    last->busy_ns += w->busy_ns;
    last->launches += w->launches;
    last->records += w->records;
    last->dropped += w->dropped;
}

void ledger_write(struct drain *d)
{
    unsigned done = 0;
    for (; done < rows; done++, first_is_written = false) {
        if (!first_is_written && writer_gpu_window(d->w, &row[done]) == ST_LIMIT)
            break;
        first_is_written = true;
        if (!kernels_write_window(d, row[done].begin_ns))
            break;
    }
    rows -= done;
    memmove(row, row + done, rows * sizeof *row);
    totals.untimed = kernels_untimed();
    if (totals.untimed > totals.records)
        totals.untimed = totals.records;
    totals_changed = writer_gpu_totals(d->w, &totals) == ST_LIMIT || rows > 0;
}

bool ledger_is_dirty(void)
{
    return atomic_load(&totals_changed);
}

void ledger_forget(void)
{
    rows = 0;
    first_is_written = false;
    totals = (struct gpu_totals){ 0 };
    totals_changed = false;
}
