/* SPDX-License-Identifier: Apache-2.0 */
#include "traces/inorder.h"

#include <stdlib.h>

/* The next event of one run; a binary heap of them, earliest first. */
struct head {
    uint64_t start_ns;
    uint32_t run, at;
};

struct inorder {
    uint32_t *signature, *duration_ns;
    uint64_t *start_ns;
    struct head *heap;
    size_t heap_size;
};

enum status inorder_open(struct inorder **out)
{
    struct inorder *o = *out = calloc(1, sizeof *o);
    if (!o)
        return ST_NOMEM;
    size_t events = TRACE_FRAME_EVENTS_MAX;
    o->signature = malloc(events * sizeof *o->signature);
    o->duration_ns = malloc(events * sizeof *o->duration_ns);
    o->start_ns = malloc(events * sizeof *o->start_ns);
    o->heap = malloc(TRACE_FRAME_RUNS_MAX * sizeof *o->heap);
    if (o->signature && o->duration_ns && o->start_ns && o->heap)
        return ST_OK;
    inorder_close(o);
    *out = NULL;
    return ST_NOMEM;
}

void inorder_close(struct inorder *o)
{
    if (!o)
        return;
    free(o->signature);
    free(o->duration_ns);
    free(o->start_ns);
    free(o->heap);
    free(o);
}

static bool is_before(const struct head *a, const struct head *b)
{
    return a->start_ns != b->start_ns ? a->start_ns < b->start_ns : a->run < b->run;
}

/* Let the head at the top sink to its place. */
static void sink(struct inorder *o, size_t at)
{
    struct head moving = o->heap[at];
    for (size_t child; (child = 2 * at + 1) < o->heap_size; at = child) {
        if (child + 1 < o->heap_size && is_before(&o->heap[child + 1], &o->heap[child]))
            child++;
        if (!is_before(&o->heap[child], &moving))
            break;
        o->heap[at] = o->heap[child];
    }
    o->heap[at] = moving;
}

/* The earliest head among the others, which bounds how far the top may run. */
static const struct head *second(const struct inorder *o)
{
    if (o->heap_size < 2)
        return NULL;
    return o->heap_size > 2 && is_before(&o->heap[2], &o->heap[1]) ? &o->heap[2] : &o->heap[1];
}

/* Copy events of the top run while they come before every other run. */
static size_t take_stretch(struct inorder *o, const struct reader_events *run,
                           const uint32_t *index, size_t n)
{
    struct head *top = &o->heap[0];
    const struct head *other = second(o);
    do {
        o->signature[n] = index[run->signature[top->at]];
        o->start_ns[n] = run->start_ns[top->at];
        o->duration_ns[n] = run->duration_ns[top->at];
        n++;
        if (++top->at == run->count) {
            *top = o->heap[--o->heap_size];
            break;
        }
        top->start_ns = run->start_ns[top->at];
    } while (!other || is_before(top, other));
    sink(o, 0);
    return n;
}

struct inorder_columns inorder_merge(struct inorder *o, const struct reader_frame *frame,
                                     const uint32_t *index)
{
    size_t n = 0;
    if (frame->nevents == 1) {
        const struct reader_events *run = frame->events;
        for (; n < run->count; n++)
            o->signature[n] = index[run->signature[n]];
        return (struct inorder_columns){ n, o->signature, run->start_ns, run->duration_ns };
    }
    o->heap_size = frame->nevents;
    for (size_t i = 0; i < frame->nevents; i++)
        o->heap[i] = (struct head){ frame->events[i].start_ns[0], (uint32_t)i, 0 };
    for (size_t i = o->heap_size / 2; i-- > 0;)
        sink(o, i);
    while (o->heap_size)
        n = take_stretch(o, &frame->events[o->heap[0].run], index, n);
    return (struct inorder_columns){ n, o->signature, o->start_ns, o->duration_ns };
}
