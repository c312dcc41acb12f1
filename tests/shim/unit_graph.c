/* SPDX-License-Identifier: Apache-2.0
 *
 * Graphs where memory is short, and places of graphs that are used again, without a host process.
 */
#include <criterion/criterion.h>

#include "tracer/capture.h"
#include "tracer/execs.h"
#include "tracer/graph.h"
#include "tracer/tap.h"

/* What graph.c needs of the rest of the shim. */
__thread struct tap_self tap_self __attribute__((tls_model("initial-exec")));
static uint64_t dropped;

void tap_drop_many(enum loss_cause cause, uint64_t calls)
{
    cr_assert_eq(cause, LOSS_NO_MEMORY);
    dropped += calls;
}

struct thread *thread_take(enum loss_cause *cause)
{
    *cause = LOSS_NO_MEMORY;
    return NULL;
}

void capture_learn(const void *begin)
{
    (void)begin;
}

uint64_t capture_ask(void *stream, void **graph)
{
    (void)graph;
    return (uintptr_t)stream;
}

Test(graph, without_a_record_for_its_calls_they_are_dropped)
{
    static struct thread self;
    static char graph, exec;
    struct tilewise_signature key = { .op = TILEWISE_OP_GEMM, .m = 8, .n = 8, .k = 8 };
    tap_self.thread = &self;
    graph_begin((void *)7, NULL, false);
    graph_add_call(7, &key);
    graph_add_call(7, &key);
    graph_end(7, &graph);
    graph_instantiate(&exec, &graph, 2, false);
    graph_launch(&exec);
    graph_settle();
    cr_assert_eq(dropped, 2);
    cr_assert_eq(graph_launched_calls(), 0);
}

/* The hook of a launch may still be counting when another thread has seen the work done and
 * destroys the graph. */
Test(execs, a_late_launch_is_not_of_the_next_graph_in_the_place)
{
    cr_assert(execs_set(4096, 2, 2));
    struct exec *e = execs_find(4096);
    execs_remove(4096);
    execs_count(e, 0);
    execs_count(e, 3);
    cr_assert(execs_set(4096, 5, 5));
    cr_assert_eq(execs_find(4096), e);
    for (int i = 0; i < EXECS_PHASES; i++)
        cr_assert_eq(atomic_load(&e->launches[i]), 0);
}
