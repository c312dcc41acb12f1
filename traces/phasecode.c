/* SPDX-License-Identifier: Apache-2.0 */
#include "traces/phasecode.h"

#include "traces/format.h"

static void put(struct buffer *out, const uint64_t *value, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        buffer_put_varint(out, value[i]);
}

void phasecode_put(struct buffer *out, const struct phase_rows *rows)
{
    put(out, (uint64_t[]){ rows->lost, rows->ntotals }, 2);
    for (const struct phase_total *t = rows->totals; t < rows->totals + rows->ntotals; t++)
        put(out, (uint64_t[]){ t->name, t->entries, t->ended, t->sum_ns }, 4);
    put(out, (uint64_t[]){ rows->ncalls }, 1);
    for (const struct phase_calls *c = rows->calls; c < rows->calls + rows->ncalls; c++)
        put(out,
            (uint64_t[]){ c->name, c->signature, c->calls, c->sum_ns, c->min_ns,
                          c->max_ns - c->min_ns },
            6);
    put(out, (uint64_t[]){ rows->nmarks }, 1);
    uint64_t before_ns = 0;
    for (const struct phase_mark *m = rows->marks; m < rows->marks + rows->nmarks; m++) {
        put(out, (uint64_t[]){ m->name, zigzag_encode((int64_t)(m->at_ns - before_ns)) }, 2);
        before_ns = m->at_ns;
    }
}

uint64_t phasecode_get_count(struct cursor *in, uint64_t max)
{
    return cursor_varint_max(in, max);
}

bool phasecode_get_total(struct cursor *in, struct phase_total *t)
{
    t->name = (uint32_t)cursor_varint_max(in, TRACE_STRINGS_MAX - 1);
    t->entries = cursor_varint(in);
    t->ended = cursor_varint(in);
    t->sum_ns = cursor_varint_max(in, TRACE_TIME_MAX_NS);
    return !in->bad;
}

bool phasecode_get_calls(struct cursor *in, struct phase_calls *c)
{
    c->name = (uint32_t)cursor_varint_max(in, TRACE_STRINGS_MAX - 1);
    c->signature = (uint32_t)cursor_varint_max(in, TRACE_SIGNATURES_MAX - 1);
    c->calls = cursor_varint(in);
    c->sum_ns = cursor_varint_max(in, TRACE_TIME_MAX_NS);
    c->min_ns = cursor_varint_max(in, TRACE_TIME_MAX_NS);
    c->max_ns = c->min_ns + cursor_varint_max(in, TRACE_TIME_MAX_NS - c->min_ns);
    return !in->bad && c->calls;
}

bool phasecode_get_mark(struct cursor *in, struct phase_mark *m)
{
    m->name = (uint32_t)cursor_varint_max(in, TRACE_STRINGS_MAX - 1);
    m->at_ns += (uint64_t)zigzag_decode(cursor_varint(in));
    return !in->bad && m->at_ns <= TRACE_TIME_MAX_NS;
}
