/* SPDX-License-Identifier: Apache-2.0 */
#include "traces/phaserows.h"

#include "traces/format.h"
#include "traces/phasecode.h"

static enum status keep(struct buffer *rows, const void *row, size_t bytes)
{
    if (!buffer_reserve(rows, bytes))
        return ST_NOMEM;
    buffer_put(rows, row, bytes);
    return ST_OK;
}

static enum status read_totals(struct phaserows *p, const struct dictionary *names,
                               struct cursor *in)
{
    enum status st = ST_OK;
    uint64_t left = TRACE_FRAME_PHASES_MAX - p->totals.size / sizeof(struct phase_total);
    for (uint64_t n = phasecode_get_count(in, left); st == ST_OK && n; n--) {
        struct phase_total row;
        if (!phasecode_get_total(in, &row))
            return ST_FORMAT;
        row.name = dictionary_name(names, row.name);
        st = keep(&p->totals, &row, sizeof row);
    }
    return st;
}

static enum status read_calls(struct phaserows *p, const struct dictionary *names,
                              struct cursor *in)
{
    enum status st = ST_OK;
    uint64_t left = TRACE_FRAME_COUNTS_MAX - p->calls.size / sizeof(struct phase_calls);
    for (uint64_t n = phasecode_get_count(in, left); st == ST_OK && n; n--) {
        struct phase_calls row;
        if (!phasecode_get_calls(in, &row))
            return ST_FORMAT;
        row.name = dictionary_name(names, row.name);
        row.signature = dictionary_signature(names, row.signature);
        if (row.signature != DICTIONARY_UNRESOLVED)
            st = keep(&p->calls, &row, sizeof row);
    }
    return st;
}

static enum status read_marks(struct phaserows *p, const struct dictionary *names,
                              struct cursor *in)
{
    enum status st = ST_OK;
    struct phase_mark mark = { 0 };
    uint64_t left = TRACE_FRAME_MARKS_MAX - p->marks.size / sizeof mark;
    for (uint64_t n = phasecode_get_count(in, left); st == ST_OK && n; n--) {
        if (!phasecode_get_mark(in, &mark))
            return ST_FORMAT;
        struct phase_mark row = { dictionary_name(names, mark.name), mark.at_ns };
        st = keep(&p->marks, &row, sizeof row);
    }
    return st;
}

enum status phaserows_read(struct phaserows *p, const struct dictionary *names, struct cursor *in)
{
    uint64_t lost = phasecode_get_count(in, UINT64_MAX - p->rows.lost);
    p->rows.lost += lost;
    enum status st = read_totals(p, names, in);
    if (st == ST_OK)
        st = read_calls(p, names, in);
    return st == ST_OK ? read_marks(p, names, in) : st;
}

const struct phase_rows *phaserows_get(struct phaserows *p)
{
    p->rows.ntotals = p->totals.size / sizeof *p->rows.totals;
    p->rows.ncalls = p->calls.size / sizeof *p->rows.calls;
    p->rows.nmarks = p->marks.size / sizeof *p->rows.marks;
    p->rows.totals = (const struct phase_total *)p->totals.bytes;
    p->rows.calls = (const struct phase_calls *)p->calls.bytes;
    p->rows.marks = (const struct phase_mark *)p->marks.bytes;
    bool any = p->rows.lost || p->rows.ntotals || p->rows.ncalls || p->rows.nmarks;
    return any ? &p->rows : NULL;
}

void phaserows_clear(struct phaserows *p)
{
    p->totals.size = p->calls.size = p->marks.size = 0;
    p->rows.lost = 0;
}

void phaserows_free(struct phaserows *p)
{
    buffer_free(&p->totals);
    buffer_free(&p->calls);
    buffer_free(&p->marks);
}
