/* SPDX-License-Identifier: Apache-2.0
 *
 * The ring between a host thread and the writer thread. A plain program, not Criterion: it is run
 * under the thread sanitizer, which Criterion does not survive.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "tracer/ring.h"

enum { EVENTS = 1 << 20, BURST = 1000 };

static int done, failed;

static void check(bool good, const char *name)
{
    printf("%s %d - %s\n", good ? "ok" : "not ok", ++done, name);
    failed += !good;
}

static struct ring *new_ring(void)
{
    struct ring *r = malloc(sizeof *r);
    if (!r)
        abort();
    atomic_init(&r->head, 0);
    atomic_init(&r->tail, 0);
    r->seen_tail = 0;
    return r;
}

static struct ring_event event(uint64_t i)
{
    return (struct ring_event){ .start_ticks = i, .duration_and_entry = ~i };
}

static void fills_and_refuses(void)
{
    struct ring *r = new_ring();
    bool all = true;
    for (uint64_t i = 0; i < RING_EVENTS; i++)
        all = ring_push(r, event(i)) && all;
    check(all && ring_waiting(r) == RING_EVENTS,
          "an empty ring takes as many events as it has room");
    check(!ring_push(r, event(0)), "a full ring refuses the newest");
    check(ring_peek(r, 0).start_ticks == 0, "a refused event replaces nothing");
    ring_pop(r, 2);
    check(ring_push(r, event(7)) && ring_push(r, event(8)) && !ring_push(r, event(9)),
          "what was taken out makes room for as many");
    check(ring_peek(r, RING_EVENTS - 1).start_ticks == 8, "the ring wraps around");
    free(r);
}

struct run {
    struct ring *ring;
    uint64_t refused;
    _Atomic bool finished;
};

static void *produce(void *arg)
{
    struct run *run = arg;
    for (uint64_t i = 0; i < EVENTS; i++)
        run->refused += !ring_push(run->ring, event(i));
    atomic_store(&run->finished, true);
    return NULL;
}

/* Everything that was not refused arrives once, in order and whole. */
static void passes_between_threads(void)
{
    struct run run = { .ring = new_ring() };
    pthread_t producer;
    if (pthread_create(&producer, NULL, produce, &run) != 0)
        abort();
    uint64_t arrived = 0, next = 0;
    bool ordered = true, whole = true, last = false;
    while (!last) {
        last = atomic_load(&run.finished);
        uint64_t waiting = ring_waiting(run.ring);
        uint64_t count = waiting < BURST || last ? waiting : BURST;
        for (uint64_t i = 0; i < count; i++) {
            struct ring_event e = ring_peek(run.ring, i);
            ordered = ordered && e.start_ticks >= next;
            whole = whole && e.duration_and_entry == ~e.start_ticks;
            next = e.start_ticks + 1;
        }
        ring_pop(run.ring, count);
        arrived += count;
    }
    pthread_join(producer, NULL);
    check(arrived + run.refused == EVENTS, "arrived + refused = pushed, exactly");
    check(ordered, "events arrive in order, none twice");
    check(whole, "no event is torn");
    free(run.ring);
}

int main(void)
{
    fills_and_refuses();
    passes_between_threads();
    printf("1..%d\n", done);
    return failed != 0;
}
