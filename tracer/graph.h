/* SPDX-License-Identifier: Apache-2.0
 *
 * CUDA graphs without CUPTI: what is called while a stream is captured does no work; it becomes
 * part of a graph, and each launch of the graph is that work again. So calls under capture are
 * collected per capture, the bag goes to the graph when the capture ends, to the executable graph
 * when it is instantiated, and a launch is one addition to a counter. The writer thread multiplies.
 *
 * The graph_ functions: any thread, while the recorder is held (tap_hold), so that no signal
 * handler comes in between; one short lock where graphs are made, none where they are launched.
 * errno is kept. Handles are only compared.
 */
#ifndef TILEWISE_TRACER_GRAPH_H
#define TILEWISE_TRACER_GRAPH_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "tracer/hot.h"
#include "traces/signature.h"

/* Streams that are being captured: while it is 0, nobody asks for a stream's state. */
extern HOT_DATA _Atomic uint32_t graph_captures;

static inline bool graph_is_capturing(void)
{
    return __builtin_expect(atomic_load_explicit(&graph_captures, memory_order_relaxed) != 0, 0);
}

/* Number of the capture that `stream` is part of, 0 if none. Asks the library that the capture was
 * begun through. */
uint64_t graph_capture_of(void *stream);

/* A call was captured: it is part of capture `capture`. */
void graph_add_call(uint64_t capture, const struct tilewise_signature *key);
/* A library put the work of a call into `graph`. */
void graph_add_work(const void *graph, const struct tilewise_signature *key);

/* A capture began on `stream` through the function `begin`, into a new graph or one that exists. */
void graph_begin(void *stream, const void *begin, bool into_existing);
/* The capture ended; `graph` is NULL when it failed. */
void graph_end(uint64_t capture, const void *graph);

/* `graph` holds all of `child` too, as its node `node`. */
void graph_add_child(const void *graph, const void *node, const void *child);
void graph_remove_node(const void *node);
/* `body` runs as often as a condition on the device holds: what is put into it cannot be counted.
 */
void graph_add_body(const void *graph, const void *body);
/* `clone` is a copy of `graph`. */
void graph_clone(const void *clone, const void *graph);
void graph_destroy(const void *graph);

/* `exec` now launches what `graph` holds (instantiated, or updated): `nodes` nodes, 0 unknown.
 * `from_device`: kernels may launch it, too. */
void graph_instantiate(const void *exec, const void *graph, uint64_t nodes, bool from_device);
/* In `exec`, `child` stands at `node` now. */
void graph_set_child(const void *exec, const void *node, const void *child);
void graph_destroy_exec(const void *exec);
/* A launch into a stream that is being captured. */
void graph_capture_launch(uint64_t capture, const void *exec);
/* A launch that did its work. No lock. */
void graph_launch(const void *exec);

/* The writer thread: turn launches into counts of calls. */
void graph_settle(void);
bool graph_is_dirty(void);
/* Launches so far, the calls in them, and the nodes as far as they are known. */
uint64_t graph_launches(void);
uint64_t graph_launched_calls(void);
uint64_t graph_nodes(void);
/* What is known to be missing: launches of executable graphs that nobody saw being made; launches
 * with parts that cannot be counted (bodies of conditional nodes, unknown nodes that were changed);
 * executable graphs with calls that kernels may launch, too. */
struct graph_gaps {
    uint64_t unknown_launches, unclear_launches, device_graphs;
};
struct graph_gaps graph_gaps(void);
/* In a fork child. */
void graph_forget(void);

#endif
